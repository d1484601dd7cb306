// How the differences between probes become ρ, the local geometric instability (LGI).
#pragma once

#include <string>
#include <vector>

namespace sadam {

/// The formula for ρ, from D_i = (f(w + δu_i) − f(w)) / δ and, for `residual`, the slopes ⟨g, u_i⟩.
enum class Statistic {
  /// Var(D) / (mean(D²) + ε), Var with 1/k: the paper's equation, 0 ≤ ρ < 1. On a linear function it is about
  /// 1 − 1/k, so where the gradient dominates it measures k, not the geometry.
  variance,
  /// The same with 1/(k−1), as in the authors' code: 0 for k = 1, and it can reach k/(k−1).
  unbiased_variance,
  /// mean(R²) / (mean(R²) + mean(⟨g,u⟩²) + ε) with R_i = D_i − ⟨g, u_i⟩: 0 on a linear function, near 1 where
  /// the gradient does not predict the loss nearby. Costs no extra forward pass.
  residual,
};

/// ρ from k differences, before the cap. `slopes` is read by `residual` only and then has k entries.
/// A difference (or slope) that is not finite makes ρ its largest value: 1, or k/(k−1) for
/// `unbiased_variance`.
double lgi(Statistic statistic, const std::vector<double>& differences, const std::vector<double>& slopes,
           double eps);

/// ρ of the one probe along Adam's own step Δ: |R| / (|R| + |slope| + 1e-12), R = change − slope, where
/// change = f(w + Δ) − f(w) and slope = ⟨g, Δ⟩. 1 if either is not finite.
double step_lgi(double change, double slope);

/// The name used in files and messages: "variance", "unbiased_variance", "residual".
std::string to_string(Statistic statistic);

}  // namespace sadam
