#include <sadam/statistic.h>

#include <algorithm>
#include <cmath>

#include "option_names.h"

namespace sadam {
namespace {

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (double x : values) largest = std::max(largest, std::abs(x));
  return largest;
}

// Both statistics are ratios of squares. The values are divided by the largest first, and ε by its square, so
// that no square over- or underflows: ρ is unchanged by the unit in which the loss is measured, ε apart.
double variance_ratio(const std::vector<double>& differences, double divisor, double eps) {
  const double scale = largest_magnitude(differences);
  if (scale == 0) return 0;
  const auto k = static_cast<double>(differences.size());
  double sum = 0;
  double squares = 0;
  for (double d : differences) {
    sum += d / scale;
    squares += (d / scale) * (d / scale);
  }
  double spread = 0;
  for (double d : differences) spread += (d / scale - sum / k) * (d / scale - sum / k);
  spread = std::min(spread, squares);  // true but for rounding, and what keeps ρ below its bound
  return spread / divisor / (squares / k + eps / scale / scale);
}

double residual_ratio(const std::vector<double>& differences, const std::vector<double>& slopes, double eps) {
  const double scale = std::max(largest_magnitude(differences), largest_magnitude(slopes));
  if (scale == 0) return 0;
  const auto k = static_cast<double>(differences.size());
  double residuals = 0;
  double explained = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double r = differences[i] / scale - slopes[i] / scale;
    residuals += r * r;
    explained += (slopes[i] / scale) * (slopes[i] / scale);
  }
  return residuals / k / (residuals / k + explained / k + eps / scale / scale);
}

}  // namespace

double lgi(Statistic statistic, const std::vector<double>& differences, const std::vector<double>& slopes,
           double eps) {
  if (differences.empty()) throw Error("lgi: there is no difference to judge: evaluate at least one probe.");
  const auto k = static_cast<double>(differences.size());
  const bool finite = all_finite(differences);
  switch (statistic) {
    case Statistic::variance:
      return finite ? variance_ratio(differences, k, eps) : 1;
    case Statistic::unbiased_variance:
      if (!finite) return k > 1 ? k / (k - 1) : 1;
      return k > 1 ? variance_ratio(differences, k - 1, eps) : 0;
    case Statistic::residual:
      if (slopes.size() != differences.size())
        throw Error("lgi: the residual statistic needs one slope for each difference.");
      return finite && all_finite(slopes) ? residual_ratio(differences, slopes, eps) : 1;
  }
  throw Error("lgi: the statistic must be variance, unbiased_variance or residual.");
}

double step_lgi(double change, double slope) {
  if (!std::isfinite(change) || !std::isfinite(slope)) return 1;
  const double residual = std::abs(change - slope);
  return residual / (residual + std::abs(slope) + 1e-12);
}

std::string to_string(Statistic statistic) { return name_in(kStatisticNames, statistic); }

}  // namespace sadam
