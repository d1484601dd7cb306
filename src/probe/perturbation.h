// Moves the weights to w₀ + δu_i and says how steep the loss is that way.
#pragma once

#include <sadam/directions.h>

#include <cstdint>
#include <vector>

#include "../kernels/kernels.h"
#include "snapshot.h"

namespace sadam::probe {

/// What Adam is about to do to one parameter; for `Directions::step`.
struct ComingStep {
  at::Tensor m;  ///< laid out like the parameter
  at::Tensor v;
  kernels::AdamCoefficients coefficients;
};

/// Which directions, and what is needed to make them.
struct DirectionPlan {
  Directions directions = Directions::sphere;
  DirectionSource source;  ///< overrides `directions` when set
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  double radius = 0.01;            ///< δ
  bool slopes = false;             ///< whether ⟨g, u_i⟩ is wanted
  std::vector<ComingStep> coming;  ///< one for each parameter, for `Directions::step` only
  std::vector<at::Tensor>
      gradients;  ///< one for each parameter, laid out like it, undefined where there is none
};

/// Throws unless what a caller's source returned is like the parameter.
void check_direction(const at::Tensor& u, const at::Tensor& parameter, std::int64_t group,
                     std::int64_t index);

/// Applies one direction after another to the parameters of a snapshot. The weights stay moved: restoring is
/// the snapshot's business.
class Perturbation {
 public:
  Perturbation(const Snapshot& snapshot, DirectionPlan plan);

  /// Writes w₀ + δu of probe i (w₀ + Δ for `Directions::step`) into the parameters. Returns ⟨g, u⟩ (⟨g, Δ⟩)
  /// if slopes are wanted, else 0.
  double apply(std::int64_t probe);

 private:
  double apply_source(std::int64_t probe);
  double apply_coming_step();
  double apply_random(std::uint32_t probe);
  std::vector<double> inverse_lengths(const kernels::DirectionKey& key) const;
  template <class T>
  double apply_random_as(const kernels::DirectionKey& key, const std::vector<double>& inverse);
  template <class T>
  double apply_coming_step_as();

  const Snapshot& snapshot_;
  DirectionPlan plan_;
  int threads_;
};

}  // namespace sadam::probe
