// Chattering: how much a path goes back and forth instead of ahead.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace sadam::train {

/// Of n steps w₀, …, wₙ.
struct Chattering {
  /// 1 − ‖wₙ − w₀‖ / Σ ‖wᵢ − wᵢ₋₁‖: 0 on a straight line, 1 where the path ends where it began; NaN where
  /// nothing moved.
  double chatter = 0;
  /// The share of coordinates whose update had the other sign than the one before, averaged over the steps.
  double flips = 0;
};

/// Measures the path of some parameters in windows of n steps. On a GPU a step enqueues a few kernels and
/// waits for nothing. Keeps three copies of the parameters.
class ChatterMeter {
 public:
  /// `window` is at least 2. The path begins at the parameters as they are now.
  ChatterMeter(std::vector<at::Tensor> parameters, std::int64_t window);

  /// To be called after each step.
  void step();

  /// The windows that ended since the last call, oldest first. Waits for the device.
  std::vector<Chattering> take();

  /// What it needs to go on as if it had never stopped. All windows must have been taken.
  void save(torch::serialize::OutputArchive& archive) const;
  void load(torch::serialize::InputArchive& archive);

 private:
  at::Tensor flat() const;

  std::vector<at::Tensor> parameters_;
  std::int64_t window_;
  std::int64_t steps_ = 0;     ///< in this window
  std::int64_t compared_ = 0;  ///< of those, the ones that had a step before them
  at::Tensor start_;           ///< the parameters at the start of the window
  at::Tensor last_;            ///< and after the last step
  at::Tensor update_;          ///< the last update; undefined before the first
  at::Tensor sums_;            ///< length of the path, flips so far
  std::vector<at::Tensor> ended_;
};

}  // namespace sadam::train
