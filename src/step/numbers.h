// The numbers of an optimizer, where its parameters are: rules, counts, losses, and the records of past
// steps.
#pragma once

#include <ATen/core/Tensor.h>
#include <sadam/step_summary.h>

#include <cstdint>
#include <vector>

#include "kernels/kernels.h"
#include "step/item.h"

namespace sadam::step {

class Backend;

/// What the arrays are sized by.
struct NumbersShape {
  std::int64_t groups = 0;
  std::int64_t probes = 0;  ///< of all rounds of a step
  bool slopes = false;      ///< whether ⟨g, u_i⟩ is wanted
  bool operator==(const NumbersShape&) const = default;
};

class Numbers {
 public:
  /// Summaries of so many steps can be fetched later; of fewer, but at least 128, where a step has thousands
  /// of probes.
  static constexpr std::int64_t kRing = 512;

  Numbers(at::Device device, NumbersShape shape, const Totals& totals,
          std::vector<kernels::GroupMemory> memory);

  const NumbersShape& shape() const { return shape_; }
  at::Device device() const { return device_; }

  /// What the items need: counts of updates, groups, which of them are trained.
  void set_items(const Items& items);
  /// Launches only if a rule differs from the last ones.
  void set_rules(const std::vector<kernels::GroupRule>& rules, const Backend& backend);

  /// What the kernels that begin and end a step work on.
  kernels::StepState state() const;

  const std::int64_t* steps() const;
  std::int64_t* non_finite_gradient() const;
  const std::int64_t* skip() const;
  const kernels::AdamCoefficients* coefficients(std::size_t item) const;
  const kernels::GroupRule* rule(std::int64_t group) const;
  double* slope(std::int64_t probe) const;
  at::Tensor slope_tensor(std::int64_t probe) const { return slopes_[probe]; }
  const at::Tensor& slopes() const { return slopes_; }

  /// Scalar tensors (double) to copy losses into. All of them lie together.
  at::Tensor loss() const { return losses_[0]; }
  at::Tensor base() const { return losses_[1]; }
  at::Tensor probed(std::int64_t probe) const { return losses_[2 + probe]; }
  at::Tensor probed(std::int64_t first, std::int64_t count) const {
    return losses_.narrow(0, 2 + first, count);
  }

  // ---- these wait for the device ----
  bool is_skipped() const;
  kernels::StepNumbers counts() const;
  std::vector<std::int64_t> updates() const;  ///< t of each item
  std::vector<kernels::GroupMemory> memory() const;
  /// Records of the steps [first, end), counted as begun.
  std::vector<StepSummary> summaries(std::int64_t first, std::int64_t end) const;

 private:
  at::Device device_;
  NumbersShape shape_;
  std::int64_t ring_ = kRing;
  at::Tensor numbers_;  // StepNumbers
  at::Tensor rules_;    // GroupRule of each group
  at::Tensor memory_;   // GroupMemory of each group
  at::Tensor items_;    // ParameterNumbers of each item
  at::Tensor losses_;   // loss, base, probes
  at::Tensor slopes_;
  at::Tensor records_;
  std::vector<kernels::GroupRule> rules_set_;
  std::int64_t item_count_ = 0;
};

}  // namespace sadam::step
