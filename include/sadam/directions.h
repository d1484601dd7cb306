// Where the probes look, and which function they see there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

namespace sadam {

/// The law of the directions u_i. None is ever stored: they are regenerated from (seed, step, probe,
/// element).
enum class Directions {
  sphere,  ///< uniform on the unit sphere of all parameters together: the paper
  per_tensor,  ///< a unit vector for each parameter tensor, so ‖u‖ = √(number of tensors): the authors' code
  rademacher,  ///< ±1/√d with independent signs: a unit vector too, and one random bit an element
  step,        ///< the step Adam is about to take; one probe, `radius` and `probes` unused, `residual` only
};

/// Which f the probes evaluate.
enum class ProbeNoise {
  /// One function: each probe replays the base evaluation's random numbers (dropout masks) and starts from
  /// its buffers (batch-norm statistics); afterwards both stand as the base evaluation left them.
  shared,
  /// Every probe draws its own masks and updates the buffers again, as in the authors' code. What differs
  /// between probes is then mostly the masks.
  fresh,
};

/// Asks for the direction of one parameter in one probe. All indices count from 0.
struct DirectionRequest {
  std::int64_t step = 0;       ///< steps taken by the optimizer so far
  std::int64_t group = 0;      ///< index in `param_groups()`
  std::int64_t probe = 0;      ///< below k
  std::int64_t parameter = 0;  ///< index in the group's `params()`
};

/// A caller's own directions: returns u for one parameter, of its shape, used as it is (no normalisation). It
/// is called between evaluations: it must not read the weights, which are being moved, nor draw from torch's
/// default generator, which shared noise rewinds before each evaluation. Give it an `at::Generator` of its
/// own.
using DirectionSource = std::function<at::Tensor(const DirectionRequest&)>;

/// The name used in files and messages.
std::string to_string(Directions directions);
/// The same for the noise.
std::string to_string(ProbeNoise noise);

}  // namespace sadam
