// One ρ: what probes see from a point of a terrain, by every estimator and by the kernels of the optimizer.
#pragma once

#include <sadam/choices.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lab/polytope.h"
#include "lab/terrain.h"
#include "lab/walk.h"

namespace sadam::lab {

struct Estimator {
  Directions directions = Directions::sphere;
  Statistic statistic = Statistic::variance;
  std::int64_t probes = 8;  ///< k, and so the forward passes of one ρ beyond the one of the step

  bool operator==(const Estimator&) const = default;
};

/// k of an audit.
constexpr std::int64_t kAuditedProbes = 8;

/// Every `Directions` × `Statistic` that go together, with k = 8 (the step has one probe).
std::vector<Estimator> audited_estimators();

struct Aim {
  Directions directions = Directions::sphere;
  double radius = kPaperRadius;  ///< δ
  double lr = 1e-3;              ///< of the first step of Adam, which `Directions::step` looks along
  std::int64_t probes = 8;
  std::uint64_t seed = 0;
  double scale = 1;  ///< the loss is multiplied by this
};

/// The learning rate whose first step is as long as the radius, where no gradient is 0.
double lr_as_long_as(double radius, std::size_t dimensions);

/// What probes see.
struct Look {
  std::vector<double> differences;  ///< D; for the step f(w + Δ) − f(w)
  std::vector<double> slopes;       ///< ⟨g, u⟩; for the step ⟨g, Δ⟩
  std::vector<bool> crossed;        ///< whether the probe ended on another piece
  double length = 0;                ///< how far from the point the probes are
};

/// By the kernels of the optimizer; in float32 if asked, which only networks can be.
Look look_from(const Terrain& terrain, const Point& at, const Aim& aim, bool in_float = false);

/// ρ of the first k probes.
double lgi_of(const Estimator& estimator, const Look& look);

/// The truth: a kink or jump within the reach of the probes (landscapes), or between the point and one of the
/// first k (networks).
bool is_kinked(const Terrain& terrain, const Point& at, const Look& look, std::int64_t probes);

}  // namespace sadam::lab
