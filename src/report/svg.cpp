#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/text_table.h"

namespace sadam::report {
namespace {

// A class `cN` sets the colour; lines, areas and markers take it from there, so that each is named once.
constexpr std::string_view kShapes = R"(text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
.heading { font-weight: 600; font-size: 15px; }
.title { font-weight: 600; font-size: 13px; }
.halo { paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }
.frame, .kink, .contour { fill: none; }
.kink { stroke-dasharray: 2 3; }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.thin { stroke-width: 1.2; }
.dashed { stroke-width: 1.3; stroke-dasharray: 6 3; }
.dotted { stroke-width: 1.5; stroke-dasharray: 1.5 3; }
.dash-dotted { stroke-width: 1.3; stroke-dasharray: 8 3 2 3; }
.ideal { fill: none; stroke: currentColor; stroke-width: 7; stroke-linejoin: round; opacity: .22; }
.dots, .marker { fill: currentColor; }
.blobs { fill: none; stroke: currentColor; stroke-linecap: round; opacity: .4; }
.ring { fill: none; stroke: currentColor; stroke-width: 1.6; }
.area { fill: currentColor; fill-opacity: .18; stroke: currentColor; stroke-width: 1.6; }
)";

struct PageColour {
  std::string_view what;  // of a rule of the style sheet
  PaletteColour colour;
};
constexpr std::array<PageColour, 10> kPageColours = {
    {{"text {{ fill: {}; }}", {"#333", "#d8dee4"}},
     {".quiet {{ fill: {}; }}", {"#666", "#9aa4af"}},
     {".page {{ fill: {}; }}", {"#fff", "#0d1117"}},
     {".halo {{ stroke: {}; }}", {"#fff", "#0d1117"}},
     {".frame {{ stroke: {}; }}", {"#888", "#768390"}},
     {".kink {{ stroke: {}; }}", {"#888", "#768390"}},
     {".grid {{ stroke: {}; }}", {"#e4e4e4", "#252b33"}},
     {".contour {{ stroke: {}; }}", {"#cdd3da", "#333b45"}},
     {".band {{ fill: currentColor; opacity: {}; }}", {".14", ".2"}},
     {".plain {{ color: {}; }}", {"#333", "#d8dee4"}}}};

std::string colour_rules(bool dark) {
  const auto side = [dark](const PaletteColour& colour) { return dark ? colour.dark : colour.light; };
  std::string rules;
  for (const auto& [what, colour] : kPageColours)
    rules += fmt::format("{}\n", fmt::format(fmt::runtime(what), side(colour)));
  for (std::size_t i = 0; i < kPalette.size(); ++i)
    rules += fmt::format(".c{} {{ color: {}; }}\n", i, side(kPalette[i]));
  return rules;
}

std::string style_sheet(PageColours colours) {
  auto rules = std::string(kShapes) + colour_rules(colours == PageColours::dark);
  if (colours == PageColours::as_reader)
    rules += fmt::format("@media (prefers-color-scheme: dark) {{\n{}}}\n", colour_rules(true));
  return fmt::format("<style>\n{}</style>\n", rules);
}

// Powers of ten within a range, every so many that there are at most six.
std::vector<double> log_ticks(const AxisRange& range) {
  const auto first = static_cast<int>(std::ceil(std::log10(range.low) - 1e-9));
  const auto last = static_cast<int>(std::floor(std::log10(range.high) + 1e-9));
  const int step = std::max(1, (last - first + 5) / 6);
  std::vector<double> ticks;
  for (int power = first; power <= last; power += step) ticks.push_back(std::pow(10, power));
  return ticks;
}

/// "10⁻⁴".
std::string power_label(double value) {
  constexpr std::array<const char*, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  const auto power = static_cast<int>(std::lround(std::log10(value)));
  if (power == 0) return "1";
  if (power == 1) return "10";
  std::string text = power < 0 ? "10⁻" : "10";
  for (const char digit : fmt::format("{}", std::abs(power)))
    text += kDigits.at(static_cast<std::size_t>(digit - '0'));
  return text;
}

std::string label_among(const std::vector<double>& ticks, double tick) {
  return tick_label(tick, ticks.size() > 1 ? ticks[1] - ticks[0] : 1);
}

std::string place_of(const Frame& frame) {
  return fmt::format(R"(x="{}" y="{}" width="{}" height="{}")", svg_number(frame.left), svg_number(frame.top),
                     svg_number(frame.width), svg_number(frame.height));
}

/// About ten below a frame, or as many as their labels leave room for.
std::vector<double> ticks_with_room(const Frame& frame, bool whole) {
  for (int wanted = 10;; --wanted) {
    const auto ticks = axis_ticks(frame.x.low, frame.x.high, wanted, whole);
    if (ticks.size() < 2 || wanted <= 2) return ticks;
    double widest = 0;
    for (const double tick : ticks) widest = std::max(widest, text_width(label_among(ticks, tick)));
    if (frame.to_x(ticks[1]) - frame.to_x(ticks[0]) > widest + 12) return ticks;
  }
}

}  // namespace

std::string colour_class(const LineStyle& style) {
  return style.colour ? fmt::format("c{}", *style.colour % kPalette.size()) : "plain";
}

std::string line_class(const LineStyle& style, Ink ink) {
  if (ink == Ink::contour) return "contour";
  if (ink == Ink::kink) return "kink";
  constexpr std::array kStrokes = {"", "dashed ", "dotted ", "dash-dotted "};
  constexpr std::array kInks = {"line ", "line thin ", "ideal ", "area "};
  return fmt::format("{}{}{}", kInks.at(static_cast<std::size_t>(ink)),
                     kStrokes.at(static_cast<std::size_t>(style.stroke)), colour_class(style));
}

std::string_view marker(const LineStyle& style) {
  constexpr std::array<std::string_view, kPalette.size()> kMarkers = {
      "m-2.8-2.8h5.6v5.6h-5.6z",                                      // a square
      "m0-3.6l3.5 6.2h-7z",                                           // a triangle
      "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",                           // a disc
      "m0-4l4 4l-4 4l-4-4z",                                          // a diamond
      "m-1.2-3.7h2.4v2.5h2.5v2.4h-2.5v2.5h-2.4v-2.5h-2.5v-2.4h2.5z",  // a plus
      "m0 3.6l3.5-6.2h-7z",                                           // a triangle on its tip
  };
  return style.colour ? kMarkers[*style.colour % kMarkers.size()]
                      : "m-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0z";
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
         (size >= 1e5 || digits > 4 ? fmt::format("{:g}", size) : fmt::format("{:.{}f}", size, digits));
}

double Frame::to_y(double value) const {
  const auto place = [this](double at) { return log_y ? std::log10(std::max(at, 1e-300)) : at; };
  return bottom() - height * (place(value) - place(y.low)) / (place(y.high) - place(y.low));
}

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

std::string svg_number(double value) {
  auto text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

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

std::vector<std::string> title_lines(double width, const std::string& title) {
  constexpr double kBold = 1.15;  // wider than plain text
  return wrapped_lines(title, width / kBold, text_width);
}

void SvgPage::add(const std::string& element) {
  elements_ += element;
  elements_ += '\n';
}

void SvgPage::text(double x, double y, const std::string& words, const char* css, const char* anchor,
                   const std::string& more) {
  if (!words.empty())
    add(fmt::format(R"(<text x="{}" y="{}" class="{}" text-anchor="{}"{}>{}</text>)", svg_number(x),
                    svg_number(y), css, anchor, more, xml_text(words)));
}

void SvgPage::path(const std::string& css, const std::string& commands, const std::string& name) {
  if (commands.empty()) return;
  const auto end = name.empty() ? "/>" : fmt::format("><title>{}</title></path>", xml_text(name));
  add(fmt::format(R"(<path class="{}" d="{}"{})", css, commands, end));
}

double SvgPage::legend(const std::vector<std::vector<LegendKey>>& lines, double left, double right,
                       double top) {
  constexpr double kSwatch = 26;
  double y = top;
  for (const auto& keys : lines) {
    double x = right;
    for (const auto& key : keys) {
      const double width = kSwatch + 8 + text_width(key.text);
      if (x > left && x + width > right) {
        x = left;
        y += 20;
      }
      const auto place = fmt::format("M{} {}", svg_number(x), svg_number(y - 4));
      if (key.ink == Ink::area)
        path(line_class(key.style, key.ink), fmt::format("{}m3-5h20v10h-20z", place));
      else
        path(line_class(key.style, key.ink), fmt::format("{}h{}", place, kSwatch));
      if (key.marked && key.style.colour && key.style.stroke == Stroke::solid && key.ink == Ink::line)
        path(fmt::format("marker {}", colour_class(key.style)),
             fmt::format("{}m{} 0{}", place, kSwatch / 2, marker(key.style)));
      text(x + kSwatch + 8, y, key.text);
      x += width + 22;
    }
  }
  return y;
}

void SvgPage::axes(const Frame& frame, const AxisTitles& titles, bool whole_x) {
  const auto above = title_lines(frame.width, titles.above);
  double y_above = frame.top - 10 - kTitleLine * static_cast<double>(above.size());
  for (const auto& line : above) text(frame.left, y_above += kTitleLine, line, "title");
  const auto x_ticks = ticks_with_room(frame, whole_x);
  for (const double tick : x_ticks) {
    path("grid", fmt::format("M{} {}V{}", svg_number(frame.to_x(tick)), svg_number(frame.bottom()),
                             svg_number(frame.top)));
    text(frame.to_x(tick), frame.bottom() + 17, label_among(x_ticks, tick), "", "middle");
  }
  const auto y_ticks = frame.log_y ? log_ticks(frame.y)
                                   : axis_ticks(frame.y.low, frame.y.high, frame.height < 150 ? 3 : 5, false);
  for (const double tick : y_ticks) {
    path("grid", fmt::format("M{} {}H{}", svg_number(frame.left), svg_number(frame.to_y(tick)),
                             svg_number(frame.right())));
    text(frame.left - 7, frame.to_y(tick) + 4, frame.log_y ? power_label(tick) : label_among(y_ticks, tick),
         "", "end");
  }
  text(frame.left + frame.width / 2, frame.bottom() + 34, titles.x, "quiet", "middle");
  const double x = frame.left - 42;
  const double y = frame.top + frame.height / 2;
  text(x, y, titles.y, "quiet", "middle",
       fmt::format(" transform=\"rotate(-90 {} {})\"", svg_number(x), svg_number(y)));
}

void SvgPage::frame(const Frame& frame) { add(fmt::format(R"(<rect class="frame" {}/>)", place_of(frame))); }

// An inner picture cuts off by itself, and needs no name that another picture on the page could have too.
void SvgPage::begin_clip(const Frame& frame) {
  add(fmt::format(R"(<svg {} viewBox="{} {} {} {}">)", place_of(frame), svg_number(frame.left),
                  svg_number(frame.top), svg_number(frame.width), svg_number(frame.height)));
}

void SvgPage::end_clip() { add("</svg>"); }

std::string SvgPage::finish(double width, double height, const std::string& label,
                            PageColours colours) const {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">
{3}<rect class="page" width="{0}" height="{1}" rx="6"/>
{4}</svg>
)",
      svg_number(width), svg_number(height), xml_text(label), style_sheet(colours), elements_);
}

}  // namespace sadam::report
