#include "report/chart_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sadam::report {
namespace {

// The smallest and the largest of some numbers.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

}  // namespace

bool is_drawn(const ChartPoint& point) {
  return std::abs(point.x) < 1e300 && std::abs(point.y) < 1e300 &&
         (!point.deviation || std::abs(*point.deviation) < 1e300);
}

AxisRange x_range(const ChartPanel& panel) {
  Extent extent;
  for (const auto& series : panel.series)
    for (const auto& point : series.points)
      if (is_drawn(point)) extent.take(point.x);
  if (extent.empty()) return {};
  const double width = extent.high - extent.low;
  const double margin = width > 0 ? 0.02 * width : std::max(0.1 * std::abs(extent.high), 0.5);
  return {extent.low - margin, extent.high + margin};
}

AxisRange y_range(const ChartPanel& panel) {
  Extent curves;
  Extent all;
  for (const auto& series : panel.series) {
    for (const auto& point : series.points) {
      if (!is_drawn(point)) continue;
      const double reach = series.style.stroke == Stroke::solid ? point.deviation.value_or(0) : 0;
      curves.take(point.y);
      all.take(point.y - reach);
      all.take(point.y + reach);
    }
  }
  if (all.empty()) return {};
  const double height = all.high - all.low;
  const double margin = height > 0 ? 0.05 * height : std::max(0.1 * std::abs(all.high), 1e-6);
  AxisRange range{all.low - margin, all.high + margin};
  // Zero is shown where it is near: an axis that starts a little above it makes differences look larger.
  if (curves.low >= 0 && range.low < 0.25 * range.high) range.low = 0;
  return range;
}

std::vector<double> axis_ticks(double low, double high, int wanted, bool whole) {
  const double range = high - low;
  if (!std::isfinite(range) || !(range > 0) || wanted < 1) return {};
  const double power = std::pow(10, std::floor(std::log10(range / wanted)));
  const double rest = range / wanted / power;
  double step = power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
  if (whole) step = std::max(1.0, std::round(step));
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i < 2 * wanted; ++i) {
    const double tick = (first + i) * step;
    if (!(tick <= high + 1e-9 * step)) break;
    ticks.push_back(tick);
  }
  return ticks;
}

std::string tick_label(double value, double step) {
  const double size = std::abs(value);
  if (size < step / 2) return "0";
  const auto digits = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return (value < 0 ? "−" : "") +
         (size >= 1e5 || digits > 6 ? fmt::format("{:g}", size) : fmt::format("{:.{}f}", size, digits));
}

}  // namespace sadam::report
