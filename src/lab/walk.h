// S-Adam on a plain function, step by step, by the kernels that the engine launches: the same directions, ρ,
// brake and update, to the bit, at a few microseconds a step; and what probes see from a point, with k
// directions and with so many that chance is out.
#pragma once

#include <sadam/choices.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "lab/estimate.h"
#include "lab/polytope.h"

namespace sadam::lab {

// The paper's hyperparameters.
constexpr double kPaperRadius = 0.01;  ///< δ
constexpr double kPaperLgiEps = 1e-6;  ///< ε of ρ
constexpr double kPaperDamping = 2;    ///< λ

using Function = std::function<double(const Point&)>;

/// Directions of one seed, and the points that they lead to.
template <class T>
class Directional {
 public:
  /// For a point of tensors of these sizes, one after the other. On the sphere (normal) each tensor has a
  /// direction of length 1; the signs (rademacher) have length 1 together.
  Directional(const std::vector<std::size_t>& tensors, std::uint64_t seed,
              kernels::Distribution distribution = kernels::Distribution::normal);
  Directional(const Directional&) = delete;
  Directional& operator=(const Directional&) = delete;

  /// x + δu, for the direction u of this step and probe (below 65 536). Lives until the next call.
  const std::vector<T>& from(const std::vector<T>& x, double radius, std::int64_t step, std::uint32_t probe);
  /// ⟨g, u⟩ for the last u.
  double slope(const std::vector<T>& gradient);

 private:
  std::int64_t step_ = 0;
  std::vector<T> moved_;
  std::vector<double> inverse_;
  kernels::InverseLengths length_;
  kernels::Perturb<T> perturb_;
  kernels::Dot<T> dot_;
};

/// D_i = (f(x + δu_i) − f(x))/δ for k directions, numbered by `step`.
std::vector<double> differences(const Function& f, const Point& x, double radius, std::int64_t probes,
                                std::uint64_t seed, std::int64_t step = 0);

struct WalkOptions {
  kernels::GroupRule rule;  ///< η, β, ε, λ and so on
  std::int64_t probes = 2;
  std::uint64_t seed = 0;
  /// Algorithm 1: λ = 2, no bias correction, no weight decay.
  static WalkOptions paper(double lr);
  /// Adam: the same without a brake, and so without probes.
  static WalkOptions adam(double lr);
};

class Walk {
 public:
  Walk(Point start, const WalkOptions& options);
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// One step. `gradient` is that of f where the walk is; f is evaluated at the probes.
  void step(const Function& f, const Point& gradient);

  void set_lr(double lr) { rule_.lr = lr; }
  /// From now on this brake instead of one from probes.
  void set_brake(double brake) { rule_.given_brake = brake; }

  const Point& at() const { return w_; }
  const Point& first_moment() const { return m_; }
  const Point& second_moment() const { return v_; }
  double lgi() const { return memory_.lgi; }
  double brake() const { return rule_.applied_brake; }

 private:
  WalkOptions options_;
  kernels::GroupRule rule_;
  Point w_, m_, v_, gradient_;
  Directional<double> directions_;
  kernels::StepNumbers numbers_;
  kernels::ParameterNumbers parameter_;
  kernels::GroupMemory memory_;
  double loss_ = 0;
  std::vector<double> probed_, slopes_, records_;
  kernels::FinishStep finish_;
  kernels::AdamUpdate<double> update_;
};

// ---- a point, and what probes see from there -------------------------------------------------------------

struct Site {
  std::string name;
  Function f;
  Point at;
};

/// The start or the minimiser of a landscape.
Site site_of(const std::string& landscape, std::size_t dimensions, bool at_minimiser);

/// What k → ∞ probes see: mean, mean square and largest size of D over many directions.
struct Population {
  double mean = 0;
  double mean_square = 0;
  double largest = 0;

  double variance() const { return std::max(0.0, mean_square - mean * mean); }
  double lgi(double eps) const { return variance() / (mean_square + eps); }
};

Population look_around(const Site& site, std::size_t directions, std::uint64_t seed, const LongWork& options);

/// ρ for k → ∞, from so many directions in all.
Estimate population_lgi(const Site& site, std::size_t directions, const LongWork& options,
                        double eps = kPaperLgiEps);

/// ρ of k probes, `trials` times with other directions, by the library's own function.
std::vector<double> sampled_lgi(const Site& site, std::int64_t k, std::size_t trials, const LongWork& options,
                                double eps = kPaperLgiEps);

}  // namespace sadam::lab
