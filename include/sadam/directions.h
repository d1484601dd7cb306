// A caller's own directions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace sadam {

/// Asks for the direction of one parameter in one probe. All indices count from 0.
struct DirectionRequest {
  std::int64_t step = 0;       ///< steps taken by the optimizer so far
  std::int64_t group = 0;      ///< index in `param_groups()`
  std::int64_t probe = 0;      ///< below k
  std::int64_t parameter = 0;  ///< index in the group's `params()`
};

/// Returns u for one parameter, of its shape, used as it is (no normalisation). It is called between
/// evaluations: it must not read the weights, which are being moved, nor draw from torch's default generator,
/// which shared noise rewinds before each evaluation. Give it an `at::Generator` of its own.
using DirectionSource = std::function<at::Tensor(const DirectionRequest&)>;

}  // namespace sadam
