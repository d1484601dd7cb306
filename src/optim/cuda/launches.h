// Every pass over the parameters that a step on the GPU makes, enqueued on the current stream.
#pragma once

#include <ATen/core/Tensor.h>
#include <sadam/directions.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "device_numbers.h"

namespace sadam::optim::cuda {

/// A trainable parameter with what an update needs.
struct Item {
  at::Tensor parameter;
  const void* data = nullptr;  ///< where its elements are: loading a model may move them
  std::int64_t group = 0;
  std::int64_t index = 0;    ///< in its group
  std::uint64_t first = 0;   ///< global index of its first element
  at::Tensor first_moment;   ///< m, or ProxSGD's buffer; undefined where there is no gradient
  at::Tensor second_moment;  ///< v
};
using Items = std::vector<Item>;

/// Groups [first, end).
struct GroupRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool has(const Item& item) const { return item.group >= first && item.group < end; }
};

/// Which directions.
struct DirectionRule {
  Directions directions = Directions::sphere;
  DirectionSource source;
  std::uint64_t seed = 0;
  double radius = 0.01;
  std::int64_t source_step = 0;  ///< what a source is told
};

/// Where a probe's weights go and where they come from, one entry for each item: `to` may hold several
/// tensors for one parameter (a replica of a module whose weights are tied has a copy for each name).
struct ProbeTarget {
  std::vector<std::vector<at::Tensor>> to;
  std::vector<at::Tensor> from;  ///< w₀, laid out like the parameter
};

class Launches {
 public:
  Launches(const DeviceNumbers& numbers, const Items& items) : numbers_(numbers), items_(items) {}

  void count_non_finite_gradients() const;

  /// Writes w₀ + δu of a probe into the target. `probe` names the direction, `slot` is where a slope would
  /// go. A caller's source is asked once: it may draw another u the next time, so its slope is added here.
  void move(const DirectionRule& rule, std::int64_t probe, std::int64_t slot, GroupRange groups,
            const ProbeTarget& target) const;
  /// slope[slot] += ⟨g, u⟩, but for a caller's source.
  void add_slope(const DirectionRule& rule, std::int64_t probe, std::int64_t slot, GroupRange groups) const;
  /// Writes w₀ + Δ, the step Adam is about to take; slope[slot] += ⟨g, Δ⟩.
  void move_along_step(std::int64_t slot, GroupRange groups, const ProbeTarget& target) const;

  /// Updates of the items that have gradients, unless the step is skipped.
  void update_adam(GroupRange groups) const;
  void update_prox_sgd() const;

 private:
  template <class T>
  void count_non_finite_as() const;
  template <class T>
  void move_as(const DirectionRule& rule, std::int64_t probe, GroupRange groups, const ProbeTarget& target,
               const std::vector<const double*>& inverse, double scale) const;
  void move_to_source(const DirectionRule& rule, std::int64_t probe, std::int64_t slot, GroupRange groups,
                      const ProbeTarget& target) const;
  template <class T>
  void add_slope_as(const DirectionRule& rule, std::int64_t probe, std::int64_t slot, GroupRange groups,
                    const std::vector<const double*>& inverse, double scale) const;
  template <class T>
  void move_along_step_as(std::int64_t slot, GroupRange groups, const ProbeTarget& target) const;
  template <class T>
  void update_adam_as(GroupRange groups) const;
  template <class T>
  void update_prox_sgd_as() const;

  /// Enqueues the lengths of a direction. `memory` keeps them.
  std::vector<const double*> inverse_lengths(const DirectionRule& rule, std::int64_t probe, GroupRange groups,
                                             at::Tensor& memory) const;
  double rademacher_scale(GroupRange groups) const;
  at::Tensor scratch(std::int64_t numbers) const;
  kernels::cuda::DirectionKey key(const DirectionRule& rule, std::int64_t probe) const;
  kernels::cuda::Stream stream() const;

  const DeviceNumbers& numbers_;
  const Items& items_;
};

/// Copies each `from` to its `to` (same type and layout), all or, with `only_if`, only where that is not 0 on
/// the device. Version counters are not touched.
void copy_tensors(const std::vector<std::pair<at::Tensor, at::Tensor>>& to_from,
                  const std::int64_t* only_if = nullptr);

}  // namespace sadam::optim::cuda
