// Curves as an SVG picture: panels in a grid, one legend, for a light and a dark page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sadam::report {

enum class Stroke {
  solid,   ///< with a dot at every point, and a band where there are deviations
  dashed,  ///< thin, as the next two
  dotted,
  dash_dotted,
};

struct LineStyle {
  std::optional<std::size_t> colour;  ///< of a palette that repeats; none: the colour of the text
  Stroke stroke = Stroke::solid;
};

struct ChartPoint {
  double x = 0;
  double y = 0;                     ///< not finite: the curve is interrupted here
  std::optional<double> deviation;  ///< half the height of the band
};

struct ChartSeries {
  std::string name;  ///< what a browser shows when the pointer rests on the curve
  LineStyle style;
  std::vector<ChartPoint> points;  ///< from left to right
};

/// The axes fit the series; a quantity that is never negative has an axis that is never negative.
struct ChartPanel {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<ChartSeries> series;
};

struct ChartKey {
  std::string text;
  LineStyle style;
};

struct LineChart {
  std::string title;
  std::string subtitle;
  std::vector<std::vector<ChartKey>> legend;  ///< line by line; a line that is too long is broken
  std::vector<ChartPanel> panels;             ///< row by row
  std::size_t across = 1;                     ///< how many stand side by side
};

/// The whole file. The same chart gives the same bytes; any text is fit for XML.
std::string to_svg(const LineChart& chart);

struct AxisRange {
  double low = 0;
  double high = 1;
};

/// What the series need and a small margin; never empty.
AxisRange x_range(const ChartPanel& panel);
AxisRange y_range(const ChartPanel& panel);

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`: about `wanted`, never more than twice
/// that many. With `whole`, integers only. Empty if there is no such range.
std::vector<double> axis_ticks(double low, double high, int wanted, bool whole);

/// With as many digits as ticks `step` apart need.
std::string tick_label(double value, double step);

}  // namespace sadam::report
