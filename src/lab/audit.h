// How well ρ tells smooth from non-smooth: every estimator of it, on functions where the truth is known.
#pragma once

#include <sadam/choices.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/estimate.h"
#include "lab/terrain.h"
#include "lab/walk.h"
#include "report/picture.h"

namespace sadam::lab {

// ---- one ρ: what probes see from a point, by the kernels of the optimizer ---------------------------------

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

// ---- how well it tells ------------------------------------------------------------------------------------

/// The area under the ROC curve: the share of pairs in which the kinked one has the larger ρ, ties for half;
/// with the interval of Hanley and McNeil (1982). Neither list may be empty.
Estimate area_under_roc(std::span<const double> kinked, std::span<const double> smooth);

/// The mean of independent areas, with its interval.
Estimate mean_area(std::span<const Estimate> areas);

/// One estimator, one function, one radius.
struct Separation {
  Estimator estimator;
  bool is_network = false;
  bool in_float = false;  ///< networks: loss, gradient and probes in float32
  std::string family;
  std::size_t dimension = 0;
  double radius = 0;
  Nearness nearness = Nearness::one;  ///< of the kinked points
  std::size_t kinked = 0;             ///< how many points are
  std::size_t smooth = 0;
  double kinked_lgi = 0;  ///< mean ρ
  double smooth_lgi = 0;
  Estimate area;                       ///< against both kinds of smooth points
  std::optional<double> against_away;  ///< against the same function elsewhere
  std::optional<double> against_twin;  ///< against the twin at the same points
};

/// What ρ depends on besides geometry: its mean distance from what it is where the loss is as it is, at the
/// smallest learning rate, or in float64.
struct Dependence {
  enum class On {
    loss_scale,     ///< the loss is multiplied by `at`
    slope,          ///< a linear function, `at` times as steep as the loss, is added beside a kink
    learning_rate,  ///< of the step that is looked along
    rounding,       ///< float32 instead of float64; `at` is the radius
  };
  Estimator estimator;
  On on = On::loss_scale;
  std::size_t dimension = 0;  ///< of the networks; 0: landscapes of 2 and networks of 102
  double at = 0;
  double lgi = 0;     ///< mean ρ
  double change = 0;  ///< mean |ρ − reference|
};
std::string to_string(Dependence::On on);

/// Functions of more dimensions are looked at with one radius only.
constexpr std::size_t kMostOverRadii = 100'000;

struct Audit {
  double radius = 0;  ///< where estimators are compared: 0.01, or the nearest that was asked for
  std::vector<Separation> separations;
  std::vector<Dependence> dependences;
};

struct AuditOptions : LongWork {
  std::vector<std::size_t> dimensions;  ///< empty: 2, 100, 10⁴ and, unless quick, 10⁶
  std::vector<double> radii;            ///< empty: 10⁻⁴ to 1
};

/// Throws a UsageError for radii that are not above 0 and ascending, and for a dimension below 2 or too large
/// for the memory.
Audit run_audit(const AuditOptions& options);

/// The mean area over some of an estimator's separations; nothing if there are none.
std::optional<Estimate> mean_where(const Audit& audit, const Estimator& estimator,
                                   const std::function<bool(const Separation&)>& is_wanted);

/// One estimator in a line: at the audit's radius.
struct AuditLine {
  Estimator estimator;
  std::optional<Estimate> landscapes;  ///< mean area
  std::optional<Estimate> networks;
  double loss_scale = 0;  ///< the largest change
  double learning_rate = 0;
  std::optional<Estimate> in_float;  ///< networks, in float32
};
std::vector<AuditLine> lines_of(const Audit& audit);

/// Area against radius and dimension (audit_picture.cpp).
report::Picture picture_of(const Audit& audit);

}  // namespace sadam::lab
