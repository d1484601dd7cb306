// What differs between the CPU and a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <vector>

#include "kernels/kernels.h"
#include "step/generators.h"
#include "step/item.h"

namespace sadam::step {

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const kernels::Kernels& kernels() const = 0;
  /// Where a launch goes now.
  virtual kernels::Place place() const = 0;

  /// Whether the step under way is known to be skipped. The CPU says yes or no; a GPU, whose numbers are not
  /// there yet, never says yes.
  virtual bool knows_skip(const kernels::StepState& state, bool has_loss, bool has_base) const = 0;

  /// The generators that evaluations draw from.
  virtual std::vector<GeneratorAccess> generators() const = 0;

  virtual void backward(const at::Tensor& loss, const Items& items) const = 0;

  /// Seconds of work since then. A GPU is not waited for, so that it says 0.
  virtual double seconds_since(std::chrono::steady_clock::time_point then) const = 0;
};

/// The backend for parameters on this device. Throws `sadam::Error` where the build has none.
std::shared_ptr<Backend> make_backend(at::Device device);

/// Whether this build has kernels for GPUs.
bool built_with_cuda();
/// Throws `sadam::Error` in a build without CUDA.
std::shared_ptr<Backend> make_cuda_backend(at::Device device);

}  // namespace sadam::step
