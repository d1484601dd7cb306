#include "picture.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "canvas.h"
#include "rows.h"
#include "table.h"

namespace demo {

namespace {

/// A path that is drawn: the class names its colour.
struct Drawn {
  std::size_t row;
  std::string css;
};

// From the lowest layer to the highest. AdamW is broad, because others follow its path closely.
const std::vector<Drawn> drawn = {{prox_sgd_row, "prox"},     {adamw_row, "adamw"}, {control_row, "control"},
                                  {residual_row, "residual"}, {step_row, "step"},   {sadam_row, "sadam"}};

/// f = level, seen from the minimum: f is convex, so every ray meets the line once.
std::vector<Point> contour(double level) {
  constexpr int rays = 72;  // a multiple of 4, so that the corners on the kinks are met
  std::vector<Point> points;
  for (int i = 0; i < rays; ++i) {
    const double angle = 2 * std::numbers::pi * i / rays;
    const auto at = [angle](double radius) {
      return Point{kinks_minimiser[0] + radius * std::cos(angle),
                   kinks_minimiser[1] + radius * std::sin(angle)};
    };
    double inside = 0;
    double outside = 10;
    while (outside - inside > 1e-4) {
      const double middle = (inside + outside) / 2;
      (kinks(at(middle)) < level ? inside : outside) = middle;
    }
    points.push_back(at(outside));
  }
  return points;
}

void draw_paths(Canvas& canvas, const std::vector<Path>& paths) {
  const Panel panel{"paths", 62, 44, 502, 374, -1.75, 2.25, -0.5, 2.5};
  canvas.axes(panel, "f(x, y) = |x−1| + |y−1| + 0.5(x² + y²)", {-1, 0, 1, 2}, {0, 1, 2}, "x", "y");
  for (const double excess : {0.02, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0})
    canvas.curve(panel, contour(kinks_minimum + excess), "contour", true);
  canvas.line(panel.x(1), panel.top, panel.x(1), panel.bottom, "kink");
  canvas.line(panel.left, panel.y(1), panel.right, panel.y(1), "kink");
  for (const auto& [row, css] : drawn) canvas.curve(panel, paths[row].points, "line " + css);

  const Point& start = paths.front().points.front();
  canvas.circle(panel.x(start[0]), panel.y(start[1]), 4, "dot");
  canvas.text(panel.x(start[0]), panel.y(start[1]) - 10, "start", "halo", "middle");
  canvas.circle(panel.x(1), panel.y(1), 6, "mark");
  canvas.text(panel.x(1) + 10, panel.y(1) + 20, "minimum (1, 1)", "halo");
  canvas.frame(panel);
}

/// Around the minimum, in the free corner of the first panel.
void draw_close_up(Canvas& canvas, const std::vector<Path>& paths) {
  const Panel panel{"close", 366, 52, 494, 180, 0.89, 1.03, 0.89, 1.03};
  canvas.background(panel);
  canvas.line(panel.x(1), panel.top, panel.x(1), panel.bottom, "kink");
  canvas.line(panel.left, panel.y(1), panel.right, panel.y(1), "kink");
  for (const auto& [row, css] : drawn)
    if (row != prox_sgd_row) canvas.curve(panel, paths[row].points, "line thin " + css);
  canvas.circle(panel.x(1), panel.y(1), 6, "mark");
  canvas.text(panel.right, panel.bottom + 15, "close-up", "halo", "end");
  canvas.frame(panel);
}

void draw_excess(Canvas& canvas, const std::vector<Path>& paths) {
  const auto steps = static_cast<double>(paths.front().brakes.size());
  const Panel panel{"excess", 584, 44, 940, 184, 0, steps, 1e-6, 10, true};
  canvas.axes(panel, "Distance to the minimum in f", {0, 100, 200, 300}, {1e-6, 1e-4, 1e-2, 1}, "", "f − f*");
  for (const auto& [row, css] : drawn) {
    std::vector<Point> points;
    for (const auto& at : paths[row].points)
      points.push_back({static_cast<double>(points.size()), kinks(at) - kinks_minimum});
    canvas.curve(panel, points, "line " + css);
  }
  canvas.frame(panel);
}

/// The mean over the steps around each one.
std::vector<Point> smooth(const std::vector<double>& values) {
  constexpr std::ptrdiff_t reach = 10;
  std::vector<Point> points;
  const auto size = static_cast<std::ptrdiff_t>(values.size());
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const auto first = std::max<std::ptrdiff_t>(0, i - reach);
    const auto last = std::min(size, i + reach + 1);
    points.push_back({static_cast<double>(i), mean({values.begin() + first, values.begin() + last})});
  }
  return points;
}

void draw_brakes(Canvas& canvas, const std::vector<Path>& paths) {
  const auto& s_adam = paths[sadam_row].brakes;
  const auto steps = static_cast<double>(s_adam.size());
  const Panel panel{"brakes", 584, 238, 940, 374, 0, steps, 0, 1.08};
  canvas.axes(panel, "Brake at each step (lines: mean of 21)", {0, 100, 200, 300}, {0, 0.5, 1}, "step",
              "brake");
  for (const auto& [row, css] : drawn) {
    if (row == adamw_row || row == prox_sgd_row || row == control_row) continue;
    std::vector<Point> points;
    for (const double brake : paths[row].brakes)
      points.push_back({static_cast<double>(points.size()), brake});
    canvas.dots(panel, points, css);
    canvas.curve(panel, smooth(paths[row].brakes), "line " + css);
  }
  canvas.curve(panel, {{0, mean(s_adam)}, {steps, mean(s_adam)}}, "line control");
  canvas.frame(panel);
}

void draw_legend(Canvas& canvas, const std::vector<Path>& paths) {
  constexpr std::size_t in_a_row = 3;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const double x = 62 + 290 * static_cast<double>(i % in_a_row);
    const double y = 426 + 22 * static_cast<double>(i / in_a_row);
    canvas.line(x, y, x + 30, y, "line " + drawn[i].css);
    canvas.text(x + 38, y + 4, paths[drawn[i].row].name);
  }
  canvas.text(
      62, 480,
      "Grey: lines of equal f. Dotted: the kinks. Learning rate 0.05 for all. S-Adam: k = 2, δ = 0.01, "
      "λ = 2; one seed.");
}

}  // namespace

std::string picture(const std::vector<Path>& paths) {
  Canvas canvas;
  draw_paths(canvas, paths);
  draw_close_up(canvas, paths);
  draw_excess(canvas, paths);
  draw_brakes(canvas, paths);
  draw_legend(canvas, paths);
  return canvas.finish();
}

}  // namespace demo
