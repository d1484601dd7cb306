#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sadam::report {
namespace {

constexpr double kChartWidth = 960;
constexpr double kOuterMargin = 16;

// What stands around the frame of a panel: numbers and a title on the left and below, a title above.
constexpr double kPanelLeft = 52;
constexpr double kPanelRight = 14;
constexpr double kPanelTop = 34;
constexpr double kPanelBottom = 46;

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

// Whether the point is on the chart at all: a number, and not one so large that its pixels are none.
bool is_drawn(const ChartPoint& point) {
  return std::abs(point.x) < 1e300 && std::abs(point.y) < 1e300 &&
         (!point.deviation || std::abs(*point.deviation) < 1e300);
}

// Calls `use` for each run of neighbouring points that `accept` takes in.
template <class Accept, class Use>
void for_each_stretch(const std::vector<ChartPoint>& points, const Accept& accept, const Use& use) {
  auto from = points.begin();
  while (from != points.end()) {
    from = std::find_if(from, points.end(), accept);
    const auto to = std::find_if_not(from, points.end(), accept);
    if (from != to) use(std::vector<ChartPoint>(from, to));
    from = to;
  }
}

void draw_band(SvgPage& page, const ChartSeries& series, const Frame& frame) {
  // It may reach below an axis that starts at zero.
  const auto go = [&frame](char command, double x, double y) {
    return frame.go(command, x, std::clamp(y, frame.y.low, frame.y.high));
  };
  const auto has_band = [](const ChartPoint& point) { return is_drawn(point) && point.deviation; };
  for_each_stretch(series.points, has_band, [&](const std::vector<ChartPoint>& stretch) {
    if (stretch.size() < 2) return;
    std::string outline;
    for (auto point = stretch.begin(); point != stretch.end(); ++point)
      outline += go(outline.empty() ? 'M' : 'L', point->x, point->y + *point->deviation);
    for (auto point = stretch.rbegin(); point != stretch.rend(); ++point)
      outline += go('L', point->x, point->y - *point->deviation);
    page.path(fmt::format("band {}", colour_class(series.style)), outline + "Z");
  });
}

void draw_curve(SvgPage& page, const ChartSeries& series, const Frame& frame) {
  std::string line;
  std::string dots;
  for_each_stretch(series.points, is_drawn, [&](const std::vector<ChartPoint>& stretch) {
    for (std::size_t i = 0; i < stretch.size(); ++i) {
      const auto& [x, y, deviation] = stretch[i];
      if (stretch.size() > 1) line += frame.go(i == 0 ? 'M' : 'L', x, y);
      // A line through a single point cannot be seen.
      if (series.ink == Ink::line && (series.style.stroke == Stroke::solid || stretch.size() == 1)) {
        dots += frame.go('M', x, y);
        dots += marker(series.style);
      }
    }
  });
  page.path(line_class(series.style, series.ink), line, series.name);
  page.path(fmt::format("dots {}", colour_class(series.style)), dots, series.name);
}

void draw_panel(SvgPage& page, const ChartPanel& panel, const Frame& frame) {
  page.add("<g>");
  page.axes(frame, {panel.title, panel.x_title, panel.y_title}, true);
  // What matters most comes last, so that it lies on top.
  for (const auto& series : panel.series)
    if (series.style.stroke == Stroke::solid) draw_band(page, series, frame);
  const auto is_thin = [](const ChartSeries& series) { return series.ink == Ink::thin; };
  for (const auto& series : panel.series)
    if (is_thin(series)) draw_curve(page, series, frame);
  for (const bool solid : {false, true})
    for (const auto& series : panel.series)
      if (!is_thin(series) && (series.style.stroke == Stroke::solid) == solid)
        draw_curve(page, series, frame);
  page.frame(frame);
  page.add("</g>");
}

double plot_height(std::size_t across) { return across <= 1 ? 320 : across == 2 ? 260 : 190; }

}  // namespace

std::string to_svg(const LineChart& chart, PageColours colours) {
  SvgPage page;
  double top = kOuterMargin;
  if (!chart.title.empty()) page.text(kOuterMargin, top += 12, chart.title, "heading");
  if (!chart.subtitle.empty()) page.text(kOuterMargin, top += 20, chart.subtitle, "quiet");
  top = page.legend(chart.legend, kOuterMargin, kChartWidth - kOuterMargin, top + 4) + 8;

  const auto across = std::max<std::size_t>(1, std::min(chart.across, chart.panels.size()));
  const double cell_width = (kChartWidth - kOuterMargin) / static_cast<double>(across);
  const double height = plot_height(across);
  const double frame_width = cell_width - kPanelLeft - kPanelRight;
  std::size_t title_rows = 1;
  for (const auto& panel : chart.panels)
    title_rows = std::max(title_rows, title_lines(frame_width, panel.title).size());
  const double panel_top = kPanelTop + kTitleLine * static_cast<double>(title_rows - 1);
  const double cell_height = panel_top + height + kPanelBottom;
  for (std::size_t i = 0; i < chart.panels.size(); ++i) {
    const auto& panel = chart.panels[i];
    draw_panel(page, panel,
               {kOuterMargin / 2 + static_cast<double>(i % across) * cell_width + kPanelLeft,
                top + static_cast<double>(i / across) * cell_height + panel_top, frame_width, height,
                x_range(panel), y_range(panel), false});
  }
  const auto rows = (chart.panels.size() + across - 1) / across;
  const double bottom = top + static_cast<double>(rows) * cell_height + 4;
  return page.finish(kChartWidth, bottom, chart.title, colours);
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

}  // namespace sadam::report
