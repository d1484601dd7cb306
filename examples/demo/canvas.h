// What an SVG picture is drawn on: panels with axes, curves, dots and words.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "kinks.h"

namespace demo {

/// A rectangle of the picture and the coordinates it shows.
struct Panel {
  std::string name;
  double left, top, right, bottom;
  double x0, x1, y0, y1;
  bool log_y = false;

  double x(double value) const;
  double y(double value) const;
};

/// A picture in the making. `css` names the classes of its style sheet, which knows a light and a dark page.
class Canvas {
 public:
  Canvas();

  /// The whole picture.
  std::string finish();

  /// Grid, numbers and names at the axes; call it before drawing into the panel, and `frame` after.
  void axes(const Panel& panel, const std::string& title, const std::vector<double>& x_ticks,
            const std::vector<double>& y_ticks, const std::string& x_name, const std::string& y_name);
  /// Instead of `axes`: nothing but an empty page, over what is there.
  void background(const Panel& panel);
  void frame(const Panel& panel);

  /// In the panel's coordinates, cut off at its frame.
  void curve(const Panel& panel, const std::vector<Point>& points, const std::string& css,
             bool closed = false);
  void dots(const Panel& panel, const std::vector<Point>& points, const std::string& css);

  /// In the picture's coordinates.
  void text(double x, double y, const std::string& words, const std::string& css = "",
            const std::string& anchor = "start", const std::string& more = "");
  void line(double x0, double y0, double x1, double y1, const std::string& css);
  void circle(double x, double y, double radius, const std::string& css);

 private:
  void clip(const Panel& panel);
  void rectangle(const Panel& panel, const std::string& css);

  std::ostringstream out_;
};

}  // namespace demo
