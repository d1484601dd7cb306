// Every pass over the parameters that a step makes, on the CPU or enqueued on the current stream of a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "step/backend.h"
#include "step/numbers.h"
#include "step/problem.h"

namespace sadam::step {

/// u of one probe: never stored, but for what its length takes and for what a caller's source returned.
struct Direction {
  std::int64_t probe = 0;
  GroupRange groups;                   ///< that it moves
  double unit = 1;                     ///< a factor that is known beforehand: 1/√d for Rademacher
  at::Tensor lengths;                  ///< what `inverse` points to
  std::vector<const double*> inverse;  ///< 1/‖z‖ for each item
  std::vector<at::Tensor> given;       ///< by a caller's source, for each item
};

/// Where the weights of each item come from and go to, laid out like it; undefined for those that stay.
struct Target {
  std::vector<at::Tensor> from;
  std::vector<at::Tensor> to;
};

using TensorPairs = std::vector<std::pair<at::Tensor, at::Tensor>>;

class Passes {
 public:
  Passes(const Backend& backend, const Numbers& numbers, const Items& items)
      : backend_(backend), numbers_(numbers), items_(items) {}

  void count_non_finite_gradients() const;

  /// Direction i of these groups. `step` is what a caller's source is told.
  Direction direction(const ProbePlan& plan, std::int64_t probe, std::int64_t step, GroupRange groups) const;
  /// to = from + δu.
  void move(const ProbePlan& plan, const Direction& u, const Target& target) const;
  /// slope[slot] += ⟨g, u⟩.
  void add_slope(const ProbePlan& plan, const Direction& u, std::int64_t slot) const;
  /// to = from + Δ, the step Adam is about to take; slope[slot] += ⟨g, Δ⟩.
  void move_along_step(std::int64_t slot, GroupRange groups, const Target& target) const;

  /// to = w + r·g/‖g‖ of the items that have gradients, or what ASAM makes of it.
  void ascend(const GradientPlan& plan, const Target& target) const;

  /// Updates the items that have gradients, unless the step is skipped.
  void update(Update kind, GroupRange groups) const;

 private:
  template <class T>
  void count_as() const;
  template <class T>
  void move_as(const ProbePlan& plan, const Direction& u, const Target& target) const;
  template <class T>
  void add_slope_as(const ProbePlan& plan, const Direction& u, std::int64_t slot) const;
  template <class T>
  void move_along_step_as(std::int64_t slot, GroupRange groups, const Target& target) const;
  template <class T>
  kernels::Ascent<T> ascent_of(const Target& target, std::vector<at::Tensor>& kept,
                               TensorPairs& written) const;
  template <class T>
  void update_as(Update kind, GroupRange groups) const;

  kernels::DirectionOfStep key(const ProbePlan& plan, std::int64_t probe) const {
    return {plan.seed, numbers_.steps(), static_cast<std::uint32_t>(probe)};
  }
  at::Tensor scratch(std::int64_t numbers) const;

  const Backend& backend_;
  const Numbers& numbers_;
  const Items& items_;
};

/// Copies each second to its first (same type and shape), all or, with `only_if`, only where that is not 0
/// where the kernels run. Version counters are not touched.
void copy_tensors(const Backend& backend, const TensorPairs& to_from, const std::int64_t* only_if = nullptr);

}  // namespace sadam::step
