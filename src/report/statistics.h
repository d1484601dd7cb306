// What several runs of one recipe say together.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "base/quantities.h"

namespace sadam::report {

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

/// Mean and deviation, each as `format` writes a number; the mean alone for one value, or where it is not
/// finite; "–" for none.
template <typename Format>
requires std::is_invocable_r_v<std::string, Format, double> std::string with_deviation(
    std::span<const double> values, const Format& format) {
  if (values.empty()) return "–";
  std::string text = format(mean(values));
  if (const auto spread = deviation(values); spread && std::isfinite(*spread))
    text += " ± " + format(*spread);
  return text;
}

/// "15.96 ± 0.29", with so many digits after the point.
inline std::string with_deviation(std::span<const double> values, int digits) {
  return with_deviation(values, [digits](double value) { return base::decimal(value, digits); });
}

}  // namespace sadam::report
