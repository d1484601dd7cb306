// A point of a function, and what probes see from there: with k directions, and with so many that chance is
// out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/theory.h"
#include "lab/walk.h"

namespace sadam::lab {

// The paper's hyperparameters.
constexpr double kPaperRadius = 0.01;  ///< δ
constexpr double kPaperLgiEps = 1e-6;  ///< ε of ρ
constexpr double kPaperDamping = 2;    ///< λ

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
Estimate population_lgi(const Site& site, std::size_t directions, double eps, const LongWork& options);

/// ρ of k probes, `trials` times with other directions, by the library's own function.
std::vector<double> sampled_lgi(const Site& site, std::int64_t k, std::size_t trials, double eps,
                                const LongWork& options);

}  // namespace sadam::lab
