// Curves as an SVG picture: panels in a grid, one legend, for a light and a dark page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/svg.h"

namespace sadam::report {

struct ChartPoint {
  double x = 0;
  double y = 0;                     ///< not finite: the curve is interrupted here
  std::optional<double> deviation;  ///< half the height of the band
};

struct ChartSeries {
  std::string name;  ///< what a browser shows when the pointer rests on the curve
  LineStyle style;   ///< solid: with a marker at every point, and a band where there are deviations
  std::vector<ChartPoint> points;  ///< from left to right
  Ink ink = Ink::line;             ///< thin: without markers, below the others
};

/// The axes fit the series; a quantity that is never negative has an axis that is never negative.
struct ChartPanel {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<ChartSeries> series;
};

struct LineChart {
  std::string title;
  std::string subtitle;
  std::vector<std::vector<LegendKey>> legend;  ///< line by line; a line that is too long is broken
  std::vector<ChartPanel> panels;              ///< row by row
  std::size_t across = 1;                      ///< how many stand side by side
};

/// The whole file. The same chart gives the same bytes; any text is fit for XML.
std::string to_svg(const LineChart& chart, PageColours colours = PageColours::as_reader);

/// What the series need and a small margin; never empty.
AxisRange x_range(const ChartPanel& panel);
AxisRange y_range(const ChartPanel& panel);

}  // namespace sadam::report
