// Pictures: panels with curves, areas and marks, in rows; a legend above and a caption below.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "report/svg.h"

namespace sadam::report {

struct Spot {
  double x = 0;
  double y = 0;
};

/// Where the marker of its colour stands on a curve.
enum class Marks {
  none,
  at_end,
  at_points,  ///< at every point of a broad line, and wherever a point has no neighbour
};

struct PictureCurve {
  std::vector<Spot> points;  ///< where one is not finite the curve is interrupted
  LineStyle style;
  Ink ink = Ink::line;
  std::string name;  ///< what a browser shows when the pointer rests on it
  Marks marks = Marks::none;
  /// Of each point, half the height of a band around the curve, if it has one; not finite: none here.
  std::vector<double> reach = {};
};

/// Pale discs, some larger than others.
struct PictureBlobs {
  std::vector<Spot> points;
  std::vector<double> sizes;  ///< of each, from 0 (not seen) to 1
  LineStyle style;
  std::string name;
};

/// A point with a word beside it.
struct PictureMark {
  enum class Shape { disc, ring };
  enum class Side { right, left, above, below };
  Spot at;
  std::string text;
  Side side = Side::right;
  Shape shape = Shape::disc;
};

/// Drawn in the order of these fields, each list from the first to the last, and cut off at the frame. Bands
/// lie below everything else.
struct PicturePanel {
  AxisTitles titles;
  AxisRange x, y;
  bool log_y = false;
  bool whole_x = false;  ///< integers below
  double share = 1;      ///< of the row's width, beside its neighbours'
  std::vector<PictureCurve> curves;
  std::vector<PictureBlobs> blobs;
  std::vector<PictureMark> marks;
};

struct PictureRow {
  double height = 300;  ///< of the frames, in pixels of a page that is 960 wide
  std::vector<PicturePanel> panels;
  double shares = 0;  ///< that make up its width; 0: those of its panels
};

struct Picture {
  std::string title;
  std::string subtitle;
  std::vector<std::vector<LegendKey>> legend;
  std::vector<PictureRow> rows;
  std::vector<std::string> caption;  ///< paragraphs
};

/// The whole file. The same picture gives the same bytes; any text is fit for XML.
std::string to_svg(const Picture& picture, PageColours colours = PageColours::as_reader);

/// How wide the frame of a panel is that has this part of its row, from 0 to 1.
double frame_width(double part);

/// Widens one of two ranges, so that one unit is as long up as across in a frame of this width and height.
void equalise(AxisRange& x, AxisRange& y, double width, double height);

/// What the points need and a margin, a share of their extent; never empty.
AxisRange range_of(const std::vector<double>& values, double margin, double least = 0.5);

/// Panels of curves over whole numbers, so many side by side. Their axes fit the curves, and that of a
/// quantity that is never negative is never negative. Thin lines lie below, broad ones on top.
std::vector<PictureRow> rows_of_charts(std::vector<PicturePanel> panels, std::size_t across);

// ---- as files ---------------------------------------------------------------------------------------------

/// Whether there is librsvg.
bool draws_pdf();

/// Throws a UsageError for a name that does not end in .svg, .png or .pdf, and for one that asks for a PNG or
/// a PDF where there is no librsvg.
void check_picture_file(const std::filesystem::path& path);

/// As the end of its name says; an earlier file is replaced. A PNG has two pixels for each of the page.
void write_picture(const std::filesystem::path& path, const Picture& picture, bool dark = false);

}  // namespace sadam::report
