// S-Adam on a plain function, step by step, by the kernels that the engine launches: the same directions, ρ,
// brake and update, to the bit, at a few microseconds a step.
#pragma once

#include <sadam/choices.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/kernels.h"
#include "lab/polytope.h"

namespace sadam::lab {

using Function = std::function<double(const Point&)>;

/// Unit directions on the sphere, and the points that they lead to.
class Directional {
 public:
  Directional(std::size_t dimensions, std::uint64_t seed);
  Directional(const Directional&) = delete;
  Directional& operator=(const Directional&) = delete;

  /// x + δu, for the direction u of this step and probe (below 65 536). Lives until the next call.
  const Point& from(const Point& x, double radius, std::int64_t step, std::uint32_t probe);

 private:
  std::int64_t step_ = 0;
  double inverse_length_ = 0;
  Point moved_;
  kernels::InverseLengths length_;
  kernels::Perturb<double> perturb_;
};

/// D_i = (f(x + δu_i) − f(x))/δ for k directions, numbered by `step`.
std::vector<double> differences(const Function& f, const Point& x, double radius, std::int64_t probes,
                                std::uint64_t seed, std::int64_t step = 0);

struct WalkOptions {
  kernels::GroupRule rule;  ///< η, β, ε, λ and so on
  std::int64_t probes = 2;
  double radius = 0.01;
  Statistic statistic = Statistic::variance;
  double lgi_eps = 1e-6;
  double cap = 10;
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
  std::int64_t steps() const { return numbers_.steps; }

 private:
  WalkOptions options_;
  kernels::GroupRule rule_;
  Point w_, m_, v_, gradient_;
  Directional directions_;
  kernels::StepNumbers numbers_;
  kernels::ParameterNumbers parameter_;
  kernels::GroupMemory memory_;
  double loss_ = 0;
  std::vector<double> probed_, slopes_, records_;
  kernels::FinishStep finish_;
  kernels::AdamUpdate<double> update_;
};

}  // namespace sadam::lab
