// What several numbers say together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/quantities.h"

namespace sadam::base {

/// What lies within so many standard errors lies within the 95 % interval.
inline constexpr double kZ95 = 1.959964;

/// NaN for no values.
inline double mean(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The sample deviation, with 1/(n−1). One value says nothing about it: none.
inline std::optional<double> deviation(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double center = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

/// The factor on a standard error that makes a 95 % interval (Student's t) of so many values, two or more.
inline double t_factor(std::size_t values) {
  constexpr double kFew[] = {12.7062047, 4.3026527, 3.1824463, 2.7764451, 2.5705818, 2.4469119,
                             2.3646243,  2.3060041, 2.2621572, 2.2281389, 2.2009852, 2.1788128,
                             2.1603687,  2.1447867, 2.1314495};  // by degrees of freedom
  if (values - 2 < std::size(kFew)) return kFew[values - 2];
  // Cornish and Fisher's expansion: within 1e-6.
  const auto n = static_cast<double>(values - 1);
  return 1.959964 + (2.372270 + (2.822502 + (2.555850 + 1.589536 / n) / n) / n) / n;
}

/// Half of the 95 % interval of the mean. One value has none.
inline std::optional<double> half_interval(std::span<const double> values) {
  const auto spread = deviation(values);
  if (!spread) return std::nullopt;
  return t_factor(values.size()) * *spread / std::sqrt(static_cast<double>(values.size()));
}

/// Mean and deviation, each as `format` writes a number; the mean alone for one value, or where it is not
/// finite; "–" for none.
template <typename Format>
requires std::is_invocable_r_v<std::string, Format, double> std::string with_deviation(
    std::span<const double> values, const Format& format) {
  if (values.empty()) return "–";
  std::string text = format(mean(values));
  if (const auto spread = deviation(values); spread && std::isfinite(*spread))
    text += fmt::format(" ± {}", format(*spread));
  return text;
}

/// "15.96 ± 0.29", with so many digits after the point.
inline std::string with_deviation(std::span<const double> values, int digits) {
  return with_deviation(values, [digits](double value) { return decimal(value, digits); });
}

/// From 1; equal numbers share the mean of their ranks.
inline std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double shared = static_cast<double>(i + 1 + end) / 2;
    for (; i < end; ++i) ranks[order[i]] = shared;
  }
  return ranks;
}

/// Spearman's rank correlation, with an interval that holds the true one in 95 of 100 cases (Bonett and
/// Wright's). Without an order, as of equal numbers, it is 0 and may be anything.
struct RankCorrelation {
  double value = 0;
  double low = -1;
  double high = 1;
};

/// Of pairs (xᵢ, yᵢ), at least 4. Equal numbers share their rank.
inline RankCorrelation rank_correlation(std::span<const double> x, std::span<const double> y) {
  const auto a = ranks_of(x);
  const auto b = ranks_of(y);
  const double middle = mean(a);
  double both = 0;
  double of_a = 0;
  double of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - middle) * (b[i] - middle);
    of_a += (a[i] - middle) * (a[i] - middle);
    of_b += (b[i] - middle) * (b[i] - middle);
  }
  if (of_a <= 0 || of_b <= 0) return {};
  const double r = std::clamp(both / std::sqrt(of_a * of_b), -1.0, 1.0);
  // The transformation has no place for ±1 itself: as near as one exchange of neighbours.
  const auto n = static_cast<double>(a.size());
  const double nearest = 1 - 12 / (n * (n * n - 1));
  const double inside = std::clamp(r, -nearest, nearest);
  const double width = kZ95 * std::sqrt((1 + r * r / 2) / (n - 3));
  return {r, std::tanh(std::atanh(inside) - width), std::tanh(std::atanh(inside) + width)};
}

}  // namespace sadam::base
