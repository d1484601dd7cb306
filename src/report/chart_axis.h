// What the axes of a chart show. Private to this room.
#pragma once

#include <string>
#include <vector>

#include "report/line_chart.h"

namespace sadam::report {

struct AxisRange {
  double low = 0;
  double high = 1;
};

/// Whether the point is on the chart at all: a number, and not one so large that its pixels are none.
bool is_drawn(const ChartPoint& point);

/// What the series need and a small margin; never empty.
AxisRange x_range(const ChartPanel& panel);
AxisRange y_range(const ChartPanel& panel);

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`: about `wanted`, never more than twice
/// that many. With `whole`, integers only. Empty if there is no such range.
std::vector<double> axis_ticks(double low, double high, int wanted, bool whole);

/// With as many digits as ticks `step` apart need.
std::string tick_label(double value, double step);

}  // namespace sadam::report
