// The numbers of an optimizer that live on the GPU: rules, counts, losses, and the records of past steps.
#pragma once

#include <ATen/core/Tensor.h>
#include <sadam/step_summary.h>

#include <cstdint>
#include <vector>

#include "../../kernels/cuda/kernels.h"

namespace sadam::optim::cuda {

/// What the arrays are sized by.
struct NumbersShape {
  std::int64_t groups = 0;
  std::int64_t probes = 0;  ///< of all rounds of a step
  bool slopes = false;      ///< whether ⟨g, u_i⟩ is computed
  bool operator==(const NumbersShape& other) const {
    return groups == other.groups && probes == other.probes && slopes == other.slopes;
  }
};

/// One parameter's part, as the host knows it.
struct ParameterEntry {
  std::int64_t t = 0;
  std::int64_t group = 0;
  bool trained = false;
};

class DeviceNumbers {
 public:
  /// Summaries of so many steps can be fetched later.
  static constexpr std::int64_t kRing = 512;

  DeviceNumbers(at::Device device, NumbersShape shape, const Totals& totals,
                const std::vector<double>& last_lgi);

  const NumbersShape& shape() const { return shape_; }
  at::Device device() const { return device_; }

  void set_parameters(const std::vector<ParameterEntry>& entries);
  /// Launches only if a rule differs from the last ones.
  void set_rules(const std::vector<kernels::cuda::GroupRule>& rules);

  /// The same ρ for all groups.
  void set_last_lgi(double lgi);

  /// What the small kernels work on.
  kernels::cuda::StepState state() const;

  const std::int64_t* steps() const;
  std::int64_t* non_finite_gradient() const;
  const std::int64_t* skip() const;
  bool is_skipped() const;  ///< waits
  const kernels::AdamCoefficients* coefficients(std::size_t parameter) const;
  const kernels::cuda::GroupRule* rule(std::int64_t group) const;
  double* slope(std::int64_t probe) const;
  at::Tensor slope_tensor(std::int64_t probe) const { return slopes_[probe]; }

  /// Scalar tensors (double) to copy losses into.
  at::Tensor loss() const { return losses_[0]; }
  at::Tensor base() const { return losses_[1]; }
  at::Tensor probed(std::int64_t probe) const { return losses_[2 + probe]; }

  // ---- these wait for the device ----
  kernels::cuda::StepNumbers counts() const;
  std::vector<std::int64_t> updates() const;  ///< t of each parameter
  std::vector<double> last_lgi() const;
  std::vector<double> losses() const;  ///< loss, base, then the probes
  std::vector<double> slopes() const;
  /// Records of the steps [first, end), counted as begun.
  std::vector<StepSummary> summaries(std::int64_t first, std::int64_t end) const;

 private:
  at::Device device_;
  NumbersShape shape_;
  at::Tensor numbers_;     // StepNumbers
  at::Tensor rules_;       // GroupRule of each group
  at::Tensor last_lgi_;    // double of each group
  at::Tensor parameters_;  // ParameterNumbers of each parameter
  at::Tensor losses_;      // loss, base, probes
  at::Tensor slopes_;
  at::Tensor records_;
  std::vector<kernels::cuda::GroupRule> rules_set_;
  std::int64_t parameter_count_ = 0;
};

}  // namespace sadam::optim::cuda
