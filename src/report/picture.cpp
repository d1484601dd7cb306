#include "report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/text_table.h"

namespace sadam::report {
namespace {

constexpr double kPictureWidth = 960;
constexpr double kPictureMargin = 16;
// Around a frame: numbers and a title on the left and below, a title above.
constexpr double kFrameLeft = 50;
constexpr double kFrameRight = 10;
constexpr double kFrameTop = 34;
constexpr double kFrameBottom = 44;

/// In pixels. What lies far outside is brought near, so that no number is beyond SVG.
Spot pixel_of(const Spot& spot, const Frame& frame) {
  const double far = 4 * kPictureWidth;
  return {std::clamp(frame.to_x(spot.x), -far, far), std::clamp(frame.to_y(spot.y), -far, far)};
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
  for (const auto& [x, y] : simplified(pixels))
    commands += fmt::format("{}{} {}", commands.empty() ? 'M' : 'L', svg_number(x), svg_number(y));
  return commands;
}

void draw(SvgPage& page, const PictureCurve& curve, const Frame& frame) {
  std::string commands;
  std::vector<Spot> stretch;
  for (const auto& point : curve.points) {
    if (std::isfinite(point.x) && std::isfinite(point.y)) {
      stretch.push_back(pixel_of(point, frame));
      continue;
    }
    commands += commands_of(stretch);
    stretch.clear();
  }
  commands += commands_of(stretch);
  if (curve.ink == Ink::area && !commands.empty()) commands += "Z";
  page.path(line_class(curve.style, curve.ink), commands, curve.name);
  if (!curve.marked || stretch.empty()) return;
  const auto end = stretch.back();
  page.path(fmt::format("marker {}", colour_class(curve.style)),
            fmt::format("M{} {}{}", svg_number(end.x), svg_number(end.y), marker(curve.style)));
}

/// One path for each of a few sizes.
void draw(SvgPage& page, const PictureBlobs& blobs, const Frame& frame) {
  constexpr int kSizes = 8;
  constexpr double kLargest = 15;
  std::map<int, std::string> of_size;
  for (std::size_t i = 0; i < blobs.points.size(); ++i) {
    const int size = static_cast<int>(std::lround(std::clamp(blobs.sizes[i], 0.0, 1.0) * kSizes));
    if (size == 0 || !std::isfinite(blobs.points[i].x) || !std::isfinite(blobs.points[i].y)) continue;
    const auto at = pixel_of(blobs.points[i], frame);
    of_size[size] += fmt::format("M{} {}h0", svg_number(at.x), svg_number(at.y));
  }
  for (const auto& [size, commands] : of_size)
    page.add(fmt::format(R"(<path class="blobs {}" stroke-width="{}" d="{}"><title>{}</title></path>)",
                         colour_class(blobs.style), svg_number(kLargest * size / kSizes), commands,
                         xml_text(blobs.name)));
}

void draw(SvgPage& page, const PictureMark& mark, const Frame& frame) {
  if (!std::isfinite(mark.at.x) || !std::isfinite(mark.at.y)) return;
  const auto [x, y] = pixel_of(mark.at, frame);
  if (mark.shape == PictureMark::Shape::ring)
    page.path("ring plain",
              fmt::format("M{} {}m-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z", svg_number(x), svg_number(y)));
  else
    page.path("marker plain", fmt::format("M{} {}m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", svg_number(x),
                                          svg_number(y)));
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
  for (const auto& curve : panel.curves) draw(page, curve, frame);
  for (const auto& blobs : panel.blobs) draw(page, blobs, frame);
  for (const auto& mark : panel.marks) draw(page, mark, frame);
  page.end_clip();
  page.frame(frame);
}

}  // namespace

std::string to_svg(const Picture& picture, PageColours colours) {
  SvgPage page;
  double top = kPictureMargin;
  if (!picture.title.empty()) page.text(kPictureMargin, top += 12, picture.title, "heading");
  if (!picture.subtitle.empty()) page.text(kPictureMargin, top += 20, picture.subtitle, "quiet");
  top = page.legend(picture.legend, kPictureMargin, kPictureWidth - kPictureMargin, top + 4) + 8;
  for (const auto& row : picture.rows) {
    double shares = 0;
    for (const auto& panel : row.panels) shares += panel.share;
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

AxisRange range_of(const std::vector<double>& values, double margin) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const double value : values) {
    if (!(std::abs(value) < 1e300)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {};
  const double room = high > low ? margin * (high - low) : std::max(0.1 * std::abs(high), 0.5);
  return {low - room, high + room};
}

}  // namespace sadam::report
