#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace sadam::report {
namespace {

constexpr double kChartWidth = 960;
constexpr double kOuterMargin = 16;
constexpr std::size_t kPaletteSize = 6;

// What stands around the frame of a panel: numbers and a title on the left and below, a title above.
constexpr double kPanelLeft = 52;
constexpr double kPanelRight = 14;
constexpr double kPanelTop = 34;
constexpr double kPanelBottom = 46;

// A class `cN` sets the colour; lines and bands take it from there, so that each is named once a page.
constexpr auto kStyle = R"(<style>
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #333; }
.heading { font-weight: 600; font-size: 15px; }
.title { font-weight: 600; font-size: 13px; }
.quiet { fill: #666; }
.page { fill: #fff; }
.frame { fill: none; stroke: #888; }
.grid { stroke: #e4e4e4; }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.dots { fill: none; stroke: currentColor; stroke-width: 5; stroke-linecap: round; }
.dashed { stroke-width: 1.3; stroke-dasharray: 6 3; }
.dotted { stroke-width: 1.5; stroke-dasharray: 1.5 3; }
.dash-dotted { stroke-width: 1.3; stroke-dasharray: 8 3 2 3; }
.band { fill: currentColor; opacity: .14; }
.plain { color: #333; }
.c0 { color: #8a7a00; } .c1 { color: #d1495b; } .c2 { color: #1f6fd6; }
.c3 { color: #0c8a58; } .c4 { color: #8b4fc6; } .c5 { color: #b8621b; }
@media (prefers-color-scheme: dark) {
text { fill: #d8dee4; }
.quiet { fill: #9aa4af; }
.page { fill: #0d1117; }
.frame { stroke: #768390; }
.grid { stroke: #252b33; }
.band { opacity: .2; }
.plain { color: #d8dee4; }
.c0 { color: #d6c13b; } .c1 { color: #ff7b8a; } .c2 { color: #6cb0ff; }
.c3 { color: #4ccf95; } .c4 { color: #c79bff; } .c5 { color: #f0a35e; }
}
</style>
)";

// XML has no way to write most control characters or bytes that are not UTF-8: they become '?'.
std::string xml_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto length = base::first_glyph(text).bytes;
    const auto byte = static_cast<unsigned char>(text.front());
    if (length == 1 && (byte < 0x20 || byte >= 0x7f))
      out += '?';
    else if (byte == '&')
      out += "&amp;";
    else if (byte == '<')
      out += "&lt;";
    else if (byte == '>')
      out += "&gt;";
    else if (byte == '"')
      out += "&quot;";
    else
      out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

std::string chart_number(double value) {
  auto text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string classes_of(const LineStyle& style) {
  return style.colour ? fmt::format("c{}", *style.colour % kPaletteSize) : "plain";
}

std::string line_classes(const LineStyle& style) {
  constexpr std::array kStrokes = {"line ", "line dashed ", "line dotted ", "line dash-dotted "};
  return kStrokes.at(static_cast<std::size_t>(style.stroke)) + classes_of(style);
}

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

// A panel's frame on the page, and the part of the plane it shows.
struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
  AxisRange x, y;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
  double to_x(double value) const { return left + width * (value - x.low) / (x.high - x.low); }
  // A band may reach below an axis that starts at zero.
  double to_y(double value) const {
    return bottom() - height * std::clamp((value - y.low) / (y.high - y.low), 0.0, 1.0);
  }
  // A path's command that goes there: "M12 34".
  std::string go(char command, double px, double py) const {
    return fmt::format("{}{} {}", command, chart_number(to_x(px)), chart_number(to_y(py)));
  }
};

// Writes elements.
class Page {
 public:
  void add(const std::string& element) { out_ += element + "\n"; }
  void text(double x, double y, const std::string& words, const char* css, const char* anchor = "start",
            const std::string& more = "") {
    if (!words.empty())
      add(fmt::format(R"(<text x="{}" y="{}" class="{}" text-anchor="{}"{}>{}</text>)", chart_number(x),
                      chart_number(y), css, anchor, more, xml_text(words)));
  }
  void path(const std::string& css, const std::string& points, const std::string& name = "") {
    if (points.empty()) return;
    const auto end = name.empty() ? "/>" : fmt::format("><title>{}</title></path>", xml_text(name));
    add(fmt::format(R"(<path class="{}" d="{}"{})", css, points, end));
  }
  const std::string& str() const { return out_; }

 private:
  std::string out_;
};

void draw_axes(Page& page, const ChartPanel& panel, const Frame& frame) {
  page.text(frame.left, frame.top - 10, panel.title, "title");
  const auto label = [](const std::vector<double>& ticks, double tick) {
    return tick_label(tick, ticks.size() > 1 ? ticks[1] - ticks[0] : 1);
  };
  const auto x_ticks = axis_ticks(frame.x.low, frame.x.high, 10, true);
  for (const double tick : x_ticks) {
    page.path("grid", fmt::format("{}V{}", frame.go('M', tick, frame.y.low), chart_number(frame.top)));
    page.text(frame.to_x(tick), frame.bottom() + 17, label(x_ticks, tick), "", "middle");
  }
  const auto y_ticks = axis_ticks(frame.y.low, frame.y.high, 5, false);
  for (const double tick : y_ticks) {
    page.path("grid", fmt::format("{}H{}", frame.go('M', frame.x.low, tick), chart_number(frame.right())));
    page.text(frame.left - 7, frame.to_y(tick) + 4, label(y_ticks, tick), "", "end");
  }
  page.text(frame.left + frame.width / 2, frame.bottom() + 34, panel.x_title, "quiet", "middle");
  const double x = frame.left - 38;
  const double y = frame.top + frame.height / 2;
  page.text(x, y, panel.y_title, "quiet", "middle",
            fmt::format(" transform=\"rotate(-90 {} {})\"", chart_number(x), chart_number(y)));
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

void draw_band(Page& page, const ChartSeries& series, const Frame& frame) {
  const auto has_band = [](const ChartPoint& point) { return is_drawn(point) && point.deviation; };
  for_each_stretch(series.points, has_band, [&](const std::vector<ChartPoint>& stretch) {
    if (stretch.size() < 2) return;
    std::string outline;
    for (auto point = stretch.begin(); point != stretch.end(); ++point)
      outline += frame.go(outline.empty() ? 'M' : 'L', point->x, point->y + *point->deviation);
    for (auto point = stretch.rbegin(); point != stretch.rend(); ++point)
      outline += frame.go('L', point->x, point->y - *point->deviation);
    page.path("band " + classes_of(series.style), outline + "Z");
  });
}

void draw_curve(Page& page, const ChartSeries& series, const Frame& frame) {
  std::string line;
  std::string dots;
  for_each_stretch(series.points, is_drawn, [&](const std::vector<ChartPoint>& stretch) {
    for (std::size_t i = 0; i < stretch.size(); ++i) {
      const auto& [x, y, deviation] = stretch[i];
      if (stretch.size() > 1) line += frame.go(i == 0 ? 'M' : 'L', x, y);
      // A line through a single point cannot be seen.
      if (series.style.stroke == Stroke::solid || stretch.size() == 1) dots += frame.go('M', x, y) + "h0";
    }
  });
  page.path(line_classes(series.style), line, series.name);
  page.path("dots " + classes_of(series.style), dots, series.name);
}

void draw_panel(Page& page, const ChartPanel& panel, const Frame& frame) {
  page.add("<g>");
  draw_axes(page, panel, frame);
  // What matters most comes last, so that it lies on top.
  for (const auto& series : panel.series)
    if (series.style.stroke == Stroke::solid) draw_band(page, series, frame);
  for (const bool solid : {false, true})
    for (const auto& series : panel.series)
      if ((series.style.stroke == Stroke::solid) == solid) draw_curve(page, series, frame);
  page.add(fmt::format(R"(<rect class="frame" x="{}" y="{}" width="{}" height="{}"/>)",
                       chart_number(frame.left), chart_number(frame.top), chart_number(frame.width),
                       chart_number(frame.height)));
  page.add("</g>");
}

// About how wide a text is in the style sheet's font. Which font that is depends on the reader's machine:
// these are the widths of a wide one.
double text_width(std::string_view text) {
  double width = 0;
  while (!text.empty()) {
    const auto glyph = base::first_glyph(text);
    const char c = text.front();
    if (std::string_view(" .,:;'!|()[]iIjlfrt").find(c) != std::string_view::npos)
      width += 4.2;
    else if (std::string_view("mMwW=+%@").find(c) != std::string_view::npos)
      width += 11;
    else
      width += 7.6 * static_cast<double>(glyph.columns);
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

// Draws the legend below `top` and returns where it ends.
double draw_legend(Page& page, const std::vector<std::vector<ChartKey>>& legend, double top) {
  constexpr double kSwatch = 26;
  double y = top;
  for (const auto& keys : legend) {
    double x = kChartWidth;
    for (const auto& key : keys) {
      const double width = kSwatch + 8 + text_width(key.text);
      if (x > kOuterMargin && x + width > kChartWidth - kOuterMargin) {
        x = kOuterMargin;
        y += 20;
      }
      page.path(line_classes(key.style),
                fmt::format("M{} {}h{}", chart_number(x), chart_number(y - 4), kSwatch));
      page.text(x + kSwatch + 8, y, key.text, "");
      x += width + 22;
    }
  }
  return y;
}

double plot_height(std::size_t across) { return across <= 1 ? 320 : across == 2 ? 260 : 190; }

}  // namespace

std::string to_svg(const LineChart& chart) {
  Page page;
  double top = kOuterMargin;
  if (!chart.title.empty()) page.text(kOuterMargin, top += 12, chart.title, "heading");
  if (!chart.subtitle.empty()) page.text(kOuterMargin, top += 20, chart.subtitle, "quiet");
  top = draw_legend(page, chart.legend, top + 4) + 8;

  const auto across = std::max<std::size_t>(1, std::min(chart.across, chart.panels.size()));
  const double cell_width = (kChartWidth - kOuterMargin) / static_cast<double>(across);
  const double height = plot_height(across);
  const double cell_height = kPanelTop + height + kPanelBottom;
  for (std::size_t i = 0; i < chart.panels.size(); ++i) {
    const auto& panel = chart.panels[i];
    draw_panel(page, panel,
               {kOuterMargin / 2 + static_cast<double>(i % across) * cell_width + kPanelLeft,
                top + static_cast<double>(i / across) * cell_height + kPanelTop,
                cell_width - kPanelLeft - kPanelRight, height, x_range(panel), y_range(panel)});
  }
  const auto rows = (chart.panels.size() + across - 1) / across;
  const double bottom = top + static_cast<double>(rows) * cell_height + 4;
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">
{3}<rect class="page" width="{0}" height="{1}" rx="6"/>
{4}</svg>
)",
      chart_number(kChartWidth), chart_number(bottom), xml_text(chart.title), kStyle, page.str());
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
