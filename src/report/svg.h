// Drawing in SVG: every picture of the program is made with this. One style sheet, which knows a light and a
// dark page; one palette, whose colours colour-blind readers can tell apart; one way to draw axes and
// legends.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::report {

// ---- style ----------------------------------------------------------------------------------------------

enum class Stroke {
  solid,  ///< broad; the next three are thin
  dashed,
  dotted,
  dash_dotted,
};

struct LineStyle {
  std::optional<std::size_t> colour;  ///< of the palette, which repeats; none: the colour of the text
  Stroke stroke = Stroke::solid;
};

/// A colour as #rrggbb, on a light and on a dark page.
struct PaletteColour {
  std::string_view light;
  std::string_view dark;
};
/// Any two differ by a CIEDE2000 of 17 or more, also as readers without red or green cones see them. Each has
/// a marker of its own besides.
inline constexpr std::array<PaletteColour, 6> kPalette = {{{"#52097e", "#ae5689"},
                                                           {"#d1831d", "#eb6031"},
                                                           {"#025ee7", "#756aff"},
                                                           {"#198a78", "#2dba8b"},
                                                           {"#935b00", "#fbd409"},
                                                           {"#56a0d9", "#99b8fd"}}};

/// What a picture is meant for.
enum class PageColours {
  as_reader,  ///< light or dark, as the system of the reader is set
  light,
  dark,
};

/// What a curve is, and so how it is drawn.
enum class Ink {
  line,     ///< in its style
  thin,     ///< the same, narrower: many steps close together
  ideal,    ///< broad and pale, for others to lie on
  area,     ///< with its inside
  contour,  ///< these two take no colour
  kink,
};

/// Classes of the style sheet: "c2", or "plain" without a colour; "line dashed c2".
std::string colour_class(const LineStyle& style);
std::string line_class(const LineStyle& style, Ink ink = Ink::line);
/// The marker of a colour, as the end of a path that has gone to its middle: fills about 7 by 7 pixels.
std::string_view marker(const LineStyle& style);

/// A sample of a style, and what it stands for.
struct LegendKey {
  std::string text;
  LineStyle style;
  Ink ink = Ink::line;
  bool marked = true;  ///< with the marker of its colour, if it is a broad line
};

// ---- axes -----------------------------------------------------------------------------------------------

struct AxisRange {
  double low = 0;
  double high = 1;
};

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`: about `wanted`, never more than twice
/// that many. With `whole`, integers only. Empty if there is no such range.
std::vector<double> axis_ticks(double low, double high, int wanted, bool whole);
/// With as many digits as ticks `step` apart need.
std::string tick_label(double value, double step);

/// A panel's frame on the page, in pixels, and the part of the plane it shows.
struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
  AxisRange x, y;
  bool log_y = false;  ///< powers of ten are equally far apart; the range is above 0

  double right() const { return left + width; }
  double bottom() const { return top + height; }
  double to_x(double value) const { return left + width * (value - x.low) / (x.high - x.low); }
  double to_y(double value) const;
};

/// What stands around a frame.
struct AxisTitles {
  std::string above;
  std::string x;
  std::string y;
};

// ---- a page ---------------------------------------------------------------------------------------------

/// The text as XML. What it cannot say, most control characters and bytes that are not UTF-8, becomes '?'.
std::string xml_text(std::string_view text);
/// With one digit behind the point at most: a tenth of a pixel.
std::string svg_number(double value);
/// About how wide a text is, in pixels. Which font it is set in depends on the reader's machine: these are
/// the widths of a wide one.
double text_width(std::string_view text);

/// The lines of what stands above a frame of that width, and how far they are apart.
std::vector<std::string> title_lines(double width, const std::string& title);
inline constexpr double kTitleLine = 16;

/// A picture in the making: elements, one after the other. `css` are classes of the style sheet.
class SvgPage {
 public:
  void add(const std::string& element);
  void text(double x, double y, const std::string& words, const char* css = "", const char* anchor = "start",
            const std::string& more = "");
  /// `name` is what a browser shows when the pointer rests on it.
  void path(const std::string& css, const std::string& commands, const std::string& name = "");
  /// Line by line, the first 20 pixels below `top`; one that is too long is broken. Returns where it ends.
  double legend(const std::vector<std::vector<LegendKey>>& lines, double left, double right, double top);

  /// Grid, numbers and titles; call it before drawing into the frame, and `frame` after. With `whole_x` the
  /// numbers below are integers.
  void axes(const Frame& frame, const AxisTitles& titles, bool whole_x);
  void frame(const Frame& frame);
  /// What is drawn between the two is cut off at the frame.
  void begin_clip(const Frame& frame);
  void end_clip();

  /// The whole file. `label` says what it shows to those who cannot see it.
  std::string finish(double width, double height, const std::string& label,
                     PageColours colours = PageColours::as_reader) const;

 private:
  std::string elements_;
};

}  // namespace sadam::report
