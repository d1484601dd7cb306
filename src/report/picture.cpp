#include "report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "report/text_table.h"

#ifdef SADAM_HAVE_RSVG
#include <cairo-pdf.h>
#include <librsvg/rsvg.h>

#include <memory>
#endif

namespace sadam::report {
namespace {

constexpr double kPictureWidth = 960;
constexpr double kPictureMargin = 16;
// Around a frame: numbers and a title on the left and below, a title above.
constexpr double kFrameLeft = 50;
constexpr double kFrameRight = 10;
constexpr double kFrameTop = 34;
constexpr double kFrameBottom = 44;

/// Whether the point is on the picture at all: a number, and not one so large that its pixels are none.
bool is_drawn(const Spot& spot) { return std::abs(spot.x) <= 1e300 && std::abs(spot.y) <= 1e300; }

/// Calls use(first, end) for each stretch of neighbouring points, by their numbers, that are drawn: with
/// their bands, where there is a `reach`.
template <class Use>
void for_each_stretch(const PictureCurve& curve, bool with_reach, const Use& use) {
  const auto is_in = [&](std::size_t i) {
    return is_drawn(curve.points[i]) && (!with_reach || is_drawn({0, curve.reach[i]}));
  };
  for (std::size_t first = 0; first < curve.points.size(); ++first) {
    auto end = first;
    while (end < curve.points.size() && is_in(end)) ++end;
    if (end > first) use(first, end);
    first = end;
  }
}

/// In pixels. What lies far outside is brought near, so that no number is beyond SVG.
Spot pixel_of(const Spot& spot, const Frame& frame) {
  const double far = 4 * kPictureWidth;
  return {std::clamp(frame.to_x(spot.x), -far, far), std::clamp(frame.to_y(spot.y), -far, far)};
}

std::string command_to(char command, const Spot& pixel) {
  return fmt::format("{}{} {}", command, svg_number(pixel.x), svg_number(pixel.y));
}
std::string command_to(char command, const Spot& spot, const Frame& frame) {
  return command_to(command, pixel_of(spot, frame));
}

double distance_from_line(const Spot& p, const Spot& a, const Spot& b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double squared = dx * dx + dy * dy;
  if (squared == 0) return std::hypot(p.x - a.x, p.y - a.y);
  const double along = std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / squared, 0.0, 1.0);
  return std::hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

/// Without the points that nobody would miss: a tenth of a pixel is a hair (Douglas and Peucker).
std::vector<Spot> simplified(const std::vector<Spot>& points) {
  constexpr double kHair = 0.1;
  std::vector<bool> kept(points.size(), false);
  kept.front() = kept.back() = true;
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, points.size() - 1}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    double largest = kHair;
    std::size_t worst = 0;
    for (auto i = first + 1; i < last; ++i) {
      const double away = distance_from_line(points[i], points[first], points[last]);
      if (away > largest) {
        largest = away;
        worst = i;
      }
    }
    if (worst == 0) continue;
    kept[worst] = true;
    open.emplace_back(first, worst);
    open.emplace_back(worst, last);
  }
  std::vector<Spot> rest;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (kept[i]) rest.push_back(points[i]);
  return rest;
}

std::string commands_of(const std::vector<Spot>& pixels) {
  if (pixels.size() < 2) return "";
  std::string commands;
  for (const auto& pixel : simplified(pixels)) commands += command_to(commands.empty() ? 'M' : 'L', pixel);
  return commands;
}

void draw(SvgPage& page, const PictureCurve& curve, const Frame& frame) {
  std::string commands;
  for_each_stretch(curve, false, [&](std::size_t first, std::size_t end) {
    std::vector<Spot> pixels;
    for (auto i = first; i < end; ++i) pixels.push_back(pixel_of(curve.points[i], frame));
    commands += commands_of(pixels);
  });
  if (curve.ink == Ink::area && !commands.empty()) commands += "Z";
  page.path(line_class(curve.style, curve.ink), commands, curve.name);
  if (curve.marks == Marks::at_end && !curve.points.empty() && is_drawn(curve.points.back()))
    page.path(fmt::format("marker {}", colour_class(curve.style)),
              command_to('M', curve.points.back(), frame) + std::string(marker(curve.style)));
}

void draw_band(SvgPage& page, const PictureCurve& curve, const Frame& frame) {
  if (curve.reach.empty()) return;
  const auto edge = [&](char command, std::size_t i, double side) {
    return command_to(command, {curve.points[i].x, curve.points[i].y + side * curve.reach[i]}, frame);
  };
  for_each_stretch(curve, true, [&](std::size_t first, std::size_t end) {
    if (end - first < 2) return;
    std::string outline;
    for (auto i = first; i < end; ++i) outline += edge(i == first ? 'M' : 'L', i, 1);
    for (auto i = end; i-- > first;) outline += edge('L', i, -1);
    page.path(fmt::format("band {}", colour_class(curve.style)), outline + "Z");
  });
}

void draw_dots(SvgPage& page, const PictureCurve& curve, const Frame& frame) {
  if (curve.marks != Marks::at_points) return;
  std::string dots;
  for_each_stretch(curve, false, [&](std::size_t first, std::size_t end) {
    // A line through a single point cannot be seen.
    if (curve.style.stroke != Stroke::solid && end - first > 1) return;
    for (auto i = first; i < end; ++i)
      dots += command_to('M', curve.points[i], frame) + std::string(marker(curve.style));
  });
  page.path(fmt::format("dots {}", colour_class(curve.style)), dots, curve.name);
}

/// One path for each of a few sizes.
void draw(SvgPage& page, const PictureBlobs& blobs, const Frame& frame) {
  constexpr int kSizes = 8;
  constexpr double kLargest = 15;
  std::map<int, std::string> of_size;
  for (std::size_t i = 0; i < blobs.points.size(); ++i) {
    const int size = static_cast<int>(std::lround(std::clamp(blobs.sizes[i], 0.0, 1.0) * kSizes));
    if (size == 0 || !std::isfinite(blobs.points[i].x) || !std::isfinite(blobs.points[i].y)) continue;
    of_size[size] += command_to('M', blobs.points[i], frame) + "h0";
  }
  for (const auto& [size, commands] : of_size)
    page.add(fmt::format(R"(<path class="blobs {}" stroke-width="{}" d="{}"><title>{}</title></path>)",
                         colour_class(blobs.style), svg_number(kLargest * size / kSizes), commands,
                         xml_text(blobs.name)));
}

void draw(SvgPage& page, const PictureMark& mark, const Frame& frame) {
  if (!std::isfinite(mark.at.x) || !std::isfinite(mark.at.y)) return;
  const auto [x, y] = pixel_of(mark.at, frame);
  const auto there = command_to('M', {x, y});
  if (mark.shape == PictureMark::Shape::ring)
    page.path("ring plain", there + "m-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z");
  else
    page.path("marker plain", there + "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z");
  // Where the words are too long for their side of the point, they begin or end at the frame.
  const double width = text_width(mark.text);
  const auto write = [&](double left, double height, double at, const char* anchor) {
    if (left < frame.left + 4)
      page.text(frame.left + 4, height, mark.text, "halo");
    else if (left + width > frame.right() - 4)
      page.text(frame.right() - 4, height, mark.text, "halo", "end");
    else
      page.text(at, height, mark.text, "halo", anchor);
  };
  switch (mark.side) {
    case PictureMark::Side::right:
      return write(x + 10, y + 4, x + 10, "start");
    case PictureMark::Side::left:
      return write(x - 10 - width, y + 4, x - 10, "end");
    case PictureMark::Side::above:
      return write(x - width / 2, y - 11, x, "middle");
    case PictureMark::Side::below:
      return write(x - width / 2, y + 21, x, "middle");
  }
}

void draw(SvgPage& page, const PicturePanel& panel, Frame frame) {
  frame.x = panel.x;
  frame.y = panel.y;
  frame.log_y = panel.log_y;
  page.axes(frame, panel.titles, panel.whole_x);
  page.begin_clip(frame);
  for (const auto& curve : panel.curves) draw_band(page, curve, frame);
  for (const auto& curve : panel.curves) draw(page, curve, frame);
  for (const auto& blobs : panel.blobs) draw(page, blobs, frame);
  for (const auto& mark : panel.marks) draw(page, mark, frame);
  page.end_clip();
  page.frame(frame);
  for (const auto& curve : panel.curves) draw_dots(page, curve, frame);  // whole, also on the frame
}

/// Of a chart.
void fit_axes(PicturePanel& panel) {
  std::vector<double> across;
  std::vector<double> up;
  bool negative = false;
  for (const auto& curve : panel.curves)
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const auto& point = curve.points[i];
      if (!is_drawn(point)) continue;
      const bool has_band = !curve.reach.empty() && is_drawn({0, curve.reach[i]});
      across.push_back(point.x);
      for (const double side : {-1, 1}) up.push_back(point.y + side * (has_band ? curve.reach[i] : 0));
      negative = negative || point.y < 0;
    }
  panel.x = range_of(across, 0.02);
  panel.y = range_of(up, 0.05, 1e-6);
  // Zero is shown where it is near: an axis that starts a little above it makes differences look larger.
  if (!up.empty() && !negative && panel.y.low < 0.25 * panel.y.high) panel.y.low = 0;
}

}  // namespace

std::string to_svg(const Picture& picture, PageColours colours) {
  SvgPage page;
  double top = kPictureMargin;
  if (!picture.title.empty()) page.text(kPictureMargin, top += 12, picture.title, "heading");
  if (!picture.subtitle.empty()) page.text(kPictureMargin, top += 20, picture.subtitle, "quiet");
  top = page.legend(picture.legend, kPictureMargin, kPictureWidth - kPictureMargin, top + 4) + 8;
  for (const auto& row : picture.rows) {
    double shares = row.shares;
    if (shares == 0)
      for (const auto& panel : row.panels) shares += panel.share;
    std::size_t title_rows = 1;
    for (const auto& panel : row.panels)
      title_rows =
          std::max(title_rows, title_lines(frame_width(panel.share / shares), panel.titles.above).size());
    top += kTitleLine * static_cast<double>(title_rows - 1);
    double left = kPictureMargin / 2;
    for (const auto& panel : row.panels) {
      const double width = (kPictureWidth - kPictureMargin) * panel.share / shares;
      Frame frame;
      frame.left = left + kFrameLeft;
      frame.top = top + kFrameTop;
      frame.width = frame_width(panel.share / shares);
      frame.height = row.height;
      draw(page, panel, frame);
      left += width;
    }
    top += kFrameTop + row.height + kFrameBottom;
  }
  if (!picture.caption.empty()) top += 8;
  for (const auto& paragraph : picture.caption)
    for (const auto& line : wrapped_lines(paragraph, kPictureWidth - 2 * kPictureMargin, text_width))
      page.text(kPictureMargin, top += 17, line, "quiet");
  return page.finish(kPictureWidth, top + kPictureMargin, picture.title, colours);
}

double frame_width(double part) { return (kPictureWidth - kPictureMargin) * part - kFrameLeft - kFrameRight; }

void equalise(AxisRange& x, AxisRange& y, double width, double height) {
  const double unit = std::max((x.high - x.low) / width, (y.high - y.low) / height);
  const auto widen = [](AxisRange& range, double length) {
    const double middle = 0.5 * (range.low + range.high);
    range = {middle - length / 2, middle + length / 2};
  };
  widen(x, unit * width);
  widen(y, unit * height);
}

AxisRange range_of(const std::vector<double>& values, double margin, double least) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const double value : values) {
    if (!(std::abs(value) < 1e300)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {};
  const double room = high > low ? margin * (high - low) : std::max(0.1 * std::abs(high), least);
  return {low - room, high + room};
}

std::vector<PictureRow> rows_of_charts(std::vector<PicturePanel> panels, std::size_t across) {
  across = std::max<std::size_t>(1, std::min(across, panels.size()));
  const double height = across == 1 ? 320 : across == 2 ? 260 : 190;
  const auto layer = [](const PictureCurve& curve) {
    return curve.ink == Ink::thin ? 0 : curve.style.stroke == Stroke::solid ? 2 : 1;
  };
  std::vector<PictureRow> rows;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    auto& panel = panels[i];
    panel.whole_x = true;
    fit_axes(panel);
    std::ranges::stable_sort(panel.curves, [&](const auto& a, const auto& b) { return layer(a) < layer(b); });
    if (i % across == 0) rows.push_back({height, {}, static_cast<double>(across)});
    rows.back().panels.push_back(std::move(panel));
  }
  return rows;
}

// ---- as files ---------------------------------------------------------------------------------------------

bool draws_pdf() {
#ifdef SADAM_HAVE_RSVG
  return true;
#else
  return false;
#endif
}

void check_picture_file(const std::filesystem::path& path) {
  const auto end = path.extension();
  if (end != ".svg" && end != ".png" && end != ".pdf")
    throw UsageError(fmt::format("{} is no name of a picture: let it end in .svg, .png or .pdf.",
                                 base::in_quotes(path.string())));
  if (end != ".svg" && !draws_pdf())
    throw UsageError(
        "this program was built without librsvg, which makes PNG and PDF: write an .svg, or install Debian's "
        "librsvg2-dev and build again.");
}

#ifdef SADAM_HAVE_RSVG
namespace {

cairo_status_t append(void* out, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

void draw_on(cairo_surface_t* surface, RsvgHandle* handle, double width, double height) {
  const Owned<cairo_t> context(cairo_create(surface), cairo_destroy);
  const RsvgRectangle viewport{0, 0, width, height};
  GError* error = nullptr;
  if (rsvg_handle_render_document(handle, context.get(), &viewport, &error) == 0) {
    const std::string why = error != nullptr ? error->message : "unknown";
    g_clear_error(&error);
    throw Error(fmt::format("librsvg could not draw the picture: {}.", why));
  }
  cairo_show_page(context.get());
}

/// The bytes of a PNG or a PDF.
std::string rendered(const std::string& svg, bool pdf) {
  GError* error = nullptr;
  const Owned<RsvgHandle> handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error),
      [](RsvgHandle* each) { g_object_unref(each); });
  if (handle == nullptr) {
    const std::string why = error != nullptr ? error->message : "unknown";
    g_clear_error(&error);
    throw Error(fmt::format("librsvg could not read the picture: {}.", why));
  }
  gboolean has_width = 0;
  gboolean has_height = 0;
  gboolean has_box = 0;
  RsvgLength ignored{};
  RsvgRectangle box{};
  rsvg_handle_get_intrinsic_dimensions(handle.get(), &has_width, &ignored, &has_height, &ignored, &has_box,
                                       &box);
  const double scale = pdf ? 0.75 : 2;  // points, and pixels
  const double width = scale * box.width;
  const double height = scale * box.height;
  std::string bytes;
  const Owned<cairo_surface_t> surface(
      pdf ? cairo_pdf_surface_create_for_stream(append, &bytes, width, height)
          : cairo_image_surface_create(CAIRO_FORMAT_ARGB32, static_cast<int>(width),
                                       static_cast<int>(height)),
      cairo_surface_destroy);
  draw_on(surface.get(), handle.get(), width, height);
  if (!pdf) cairo_surface_write_to_png_stream(surface.get(), append, &bytes);
  cairo_surface_finish(surface.get());
  if (const auto status = cairo_surface_status(surface.get()); bytes.empty())
    throw Error(fmt::format("cairo could not write the picture: {}.", cairo_status_to_string(status)));
  return bytes;
}

}  // namespace
#endif

void write_picture(const std::filesystem::path& path, const Picture& picture, bool dark) {
  check_picture_file(path);
  const bool as_svg = path.extension() == ".svg";
  auto bytes = to_svg(picture, dark     ? PageColours::dark
                               : as_svg ? PageColours::as_reader
                                        : PageColours::light);
#ifdef SADAM_HAVE_RSVG
  if (!as_svg) bytes = rendered(bytes, path.extension() == ".pdf");
#endif
  base::write_file_atomically(base::writable_target(path), bytes);
}

}  // namespace sadam::report
