#include "lab/landscape_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sadam::lab {
namespace {

using report::AxisRange;
using report::Ink;
using report::LineStyle;
using report::PictureCurve;
using report::PictureMark;
using report::PicturePanel;
using report::Spot;
using report::Stroke;

/// f on the plane through the minimiser.
Point in_plane(const Landscape& f, double x, double y) {
  auto point = f.minimiser ? *f.minimiser : f.start;
  point[0] = x;
  point[1] = y;
  return point;
}

Spot seen(const Point& point) { return {point[0], point[1]}; }

/// A colour for each optimizer; controls are drawn as in the curves of the tables.
std::vector<LineStyle> styles_of(const std::vector<Descent>& descents) {
  std::vector<LineStyle> styles;
  std::set<std::size_t> taken;
  std::optional<std::size_t> of_sadam;
  for (const auto& descent : descents) {
    const auto& recipe = descent.of.recipe;
    const auto& name = recipe.optimizer.name;
    if (recipe.control.kind != "none") {
      styles.push_back({of_sadam, recipe.control.kind == "matched" ? Stroke::dashed : Stroke::dotted});
    } else if (name == "adamw" && recipe.schedule.name == "cosine") {
      styles.push_back({std::nullopt, Stroke::dash_dotted});
    } else {
      std::size_t colour = name == "prox_sgd" ? 0 : name == "adamw" ? 1 : 2;
      for (std::size_t i = 0; i < report::kPalette.size() && taken.count(colour) > 0; ++i)
        colour = (colour + 1) % report::kPalette.size();
      taken.insert(colour);
      if (name == "sadam") of_sadam = colour;
      styles.push_back({colour, Stroke::solid});
    }
  }
  return styles;
}

double plane_distance(const Point& a, const Point& b) { return std::hypot(a[0] - b[0], a[1] - b[1]); }

PictureCurve curve_of(const std::vector<Point>& points, Ink ink, const std::string& name) {
  PictureCurve curve;
  for (const auto& point : points) curve.points.push_back(seen(point));
  curve.ink = ink;
  curve.name = name;
  return curve;
}

void add_lines(PicturePanel& panel, const std::vector<Polyline>& lines, Ink ink, const std::string& name) {
  for (const auto& line : lines) panel.curves.push_back(curve_of(line, ink, name));
}

Window window_around(const std::vector<Point>& points, double margin) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const auto& point : points) {
    xs.push_back(point[0]);
    ys.push_back(point[1]);
  }
  const auto x = report::range_of(xs, margin);
  const auto y = report::range_of(ys, margin);
  return {x.low, x.high, y.low, y.high};
}

/// The mean over the steps around each one.
std::vector<Spot> running_mean(const std::vector<double>& values, std::size_t reach) {
  std::vector<Spot> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto first = i - std::min(i, reach);
    const auto last = std::min(values.size(), i + reach + 1);
    double total = 0;
    for (auto j = first; j < last; ++j) total += values[j];
    points.push_back({static_cast<double>(i), total / static_cast<double>(last - first)});
  }
  return points;
}

PicturePanel brake_panel(const Scene& scene) {
  PicturePanel panel;
  panel.titles = {"Brake (line: mean of 21)", "step", "brake"};
  panel.whole_x = true;
  panel.y = {0, 1.05};
  const auto styles = styles_of(scene.descents);
  std::size_t steps = 1;
  for (std::size_t i = 0; i < scene.descents.size(); ++i) {
    const auto& descent = scene.descents[i];
    steps = std::max(steps, descent.brakes.size());
    const bool matched = descent.of.recipe.control.kind == "matched";
    if (!descent.probes() && !matched) continue;
    panel.curves.push_back({running_mean(descent.brakes, 10), styles[i], Ink::line, descent.of.name});
    if (matched) continue;
    report::PictureBlobs dots;
    for (std::size_t step = 0; step < descent.brakes.size(); ++step)
      dots.points.push_back({static_cast<double>(step), descent.brakes[step]});
    dots.sizes.assign(dots.points.size(), 0.2);
    dots.style = styles[i];
    dots.name = descent.of.name;
    panel.blobs.push_back(std::move(dots));
  }
  panel.x = {0, static_cast<double>(steps)};
  return panel;
}

}  // namespace

std::vector<report::LegendKey> legend_of(const Scene& scene) {
  const auto styles = styles_of(scene.descents);
  std::vector<report::LegendKey> keys;
  for (std::size_t i = 0; i < styles.size(); ++i) keys.push_back({shown_name(scene.descents[i]), styles[i]});
  return keys;
}

report::LegendKey ideal_key(const Flow& ideal) {
  return {fmt::format("ideal path, error below {}", power_above(ideal.error)), {}, Ink::ideal};
}

PicturePanel plane_panel(const Landscape& f, Window window, double part, double height) {
  constexpr std::size_t kCells = 160;
  constexpr int kLevels = 12;
  PicturePanel panel;
  panel.titles = {"", f.start.size() == 2 ? "x" : "x₁", f.start.size() == 2 ? "y" : "x₂"};
  panel.x = {window.left, window.right};
  panel.y = {window.bottom, window.top};
  report::equalise(panel.x, panel.y, report::frame_width(part), height);
  window = {panel.x.low, panel.x.high, panel.y.low, panel.y.high};
  const auto up = static_cast<std::size_t>(
      std::lround(kCells * (window.top - window.bottom) / (window.right - window.left)));
  const auto heights_of = [&](const auto& g) {
    return Heights([&](double x, double y) { return g(in_plane(f, x, y)); }, window, kCells,
                   std::clamp<std::size_t>(up, 20, 400));
  };
  const auto heights = heights_of([&](const Point& x) { return f.value(x); });
  // Squares: close together at the bottom, where the valley is.
  const double lowest = std::min(heights.lowest(), f.lowest);
  for (int i = 1; i <= kLevels; ++i) {
    const double part_of_all = std::pow(static_cast<double>(i) / (kLevels + 0.5), 2);
    const double level = lowest + (heights.highest() - lowest) * part_of_all;
    add_lines(panel, heights.contour(level), Ink::contour, fmt::format("f = {:.3g}", level));
  }
  for (const auto& kink : f.kinks) add_lines(panel, heights_of(kink.value).contour(0), Ink::kink, "a kink");
  if (f.pieces.size() < 2 || f.pieces.size() > 20) return panel;
  for (std::size_t i = 0; i < f.pieces.size(); ++i) {
    const auto ahead = [&f, i](const Point& x) {
      double others = -INFINITY;
      for (std::size_t j = 0; j < f.pieces.size(); ++j)
        if (j != i) others = std::max(others, f.pieces[j].value(x));
      return f.pieces[i].value(x) - others;
    };
    add_lines(panel, heights_of(ahead).contour(0), Ink::kink, "a kink");
  }
  return panel;
}

Window window_of(const Scene& scene) {
  std::vector<Point> inside{scene.start};
  if (scene.f.minimiser) inside.push_back(*scene.f.minimiser);
  if (scene.ideal) inside.insert(inside.end(), scene.ideal->points.begin(), scene.ideal->points.end());
  double reach = 0;
  for (const auto& point : inside) reach = std::max(reach, plane_distance(point, scene.start));
  for (const auto& descent : scene.descents) {
    const bool stays = std::all_of(descent.points.begin(), descent.points.end(), [&](const Point& point) {
      return plane_distance(point, scene.start) <= 1.6 * reach;
    });
    if (stays) inside.insert(inside.end(), descent.points.begin(), descent.points.end());
  }
  return window_around(inside, 0.1);
}

std::optional<Window> close_up_of(const Scene& scene) {
  if (!scene.f.minimiser || scene.descents.empty()) return std::nullopt;
  const auto& centre = *scene.f.minimiser;
  std::vector<double> reaches;
  for (const auto& descent : scene.descents) {
    double reach = 0;
    for (std::size_t i = 2 * descent.points.size() / 3; i < descent.points.size(); ++i)
      reach = std::max(reach, plane_distance(descent.points[i], centre));
    if (std::isfinite(reach)) reaches.push_back(reach);
  }
  if (reaches.empty()) return std::nullopt;
  std::nth_element(reaches.begin(), reaches.begin() + static_cast<std::ptrdiff_t>(reaches.size() / 2),
                   reaches.end());
  const double away = plane_distance(scene.start, centre);
  const double radius = 1.25 * reaches[reaches.size() / 2];
  if (radius > 0.4 * away) return std::nullopt;
  // Closer than a hundredth of the way the numbers at the axes say nothing.
  if (const double least = 0.01 * away; radius < least)
    return Window{centre[0] - least, centre[0] + least, centre[1] - least, centre[1] + least};
  std::vector<Point> inside{centre};
  for (const auto& descent : scene.descents)
    for (std::size_t i = 2 * descent.points.size() / 3; i < descent.points.size(); ++i)
      if (plane_distance(descent.points[i], centre) <= radius) inside.push_back(descent.points[i]);
  return window_around(inside, 0.15);
}

void add_ideal(PicturePanel& panel, const Scene& scene) {
  if (!scene.ideal) return;
  panel.curves.push_back(curve_of(scene.ideal->points, Ink::ideal, "ideal path"));
}

void add_path(PicturePanel& panel, const Scene& scene, std::size_t which, bool thin) {
  const auto& descent = scene.descents[which];
  auto curve = curve_of(descent.points, thin ? Ink::thin : Ink::line, descent.of.name);
  curve.style = styles_of(scene.descents)[which];
  if (curve.style.stroke == Stroke::solid) curve.marks = report::Marks::at_end;
  panel.curves.push_back(std::move(curve));
}

void add_brakes(PicturePanel& panel, const Scene& scene, std::size_t which) {
  const auto& descent = scene.descents[which];
  report::PictureBlobs blobs;
  for (std::size_t i = 0; i < descent.brakes.size(); ++i) {
    blobs.points.push_back(seen(descent.points[i]));
    blobs.sizes.push_back(1 - descent.brakes[i]);
  }
  blobs.style = styles_of(scene.descents)[which];
  blobs.name = fmt::format("{}: 1 − brake", descent.of.name);
  panel.blobs.push_back(std::move(blobs));
}

void add_start_and_minimum(PicturePanel& panel, const Scene& scene) {
  const bool is_above = !scene.f.minimiser || scene.start[1] >= (*scene.f.minimiser)[1];
  panel.marks.push_back({seen(scene.start), "start",
                         is_above ? PictureMark::Side::above : PictureMark::Side::below,
                         PictureMark::Shape::disc});
  if (!scene.f.minimiser) return;
  const auto at = seen(*scene.f.minimiser);
  const bool has_room = at.x < panel.x.low + 0.75 * (panel.x.high - panel.x.low);
  panel.marks.push_back({at, "minimum", has_room ? PictureMark::Side::right : PictureMark::Side::below,
                         PictureMark::Shape::ring});
}

PicturePanel excess_panel(const Scene& scene) {
  PicturePanel panel;
  panel.titles = {"Above the minimum", "step", "f − f*"};
  panel.log_y = panel.whole_x = true;
  const auto styles = styles_of(scene.descents);
  const double start = std::max(excess(scene.f, scene.start), 1e-12);
  double low = 0.1 * start;
  double high = start;
  std::size_t steps = 1;
  for (std::size_t i = 0; i < scene.descents.size(); ++i) {
    PictureCurve curve;
    for (const auto& point : scene.descents[i].points) {
      const double value = excess(scene.f, point);
      curve.points.push_back({static_cast<double>(curve.points.size()), value});
      if (value > 1e-12) low = std::min(low, value);
      if (value < 1e3 * start) high = std::max(high, value);
    }
    steps = std::max(steps, scene.descents[i].brakes.size());
    curve.style = styles[i];
    curve.ink = Ink::thin;
    curve.name = scene.descents[i].of.name;
    panel.curves.push_back(std::move(curve));
  }
  panel.x = {0, static_cast<double>(steps)};
  panel.y = {low / 2, 2 * high};
  // What has no logarithm lies on the floor.
  for (auto& curve : panel.curves)
    for (auto& point : curve.points) point.y = std::max(point.y, panel.y.low);
  return panel;
}

PicturePanel clarke_panel(const Landscape& f, const Point& at, double part, double height) {
  PicturePanel panel;
  const auto all = f.subdifferential(at);
  const auto nearest = nearest_to_zero(all);
  Polytope flat;
  for (const auto& corner : all) flat.push_back({corner[0], corner[1]});
  const auto corners = corners_in_plane(flat);
  auto outline = curve_of(corners, Ink::area, "Clarke's ∂f");
  if (corners.size() > 1) outline.points.push_back(seen(corners.front()));
  panel.curves.push_back(outline);
  const bool holds_zero = norm(nearest) < 1e-9;
  panel.marks.push_back(
      {{0, 0}, holds_zero ? "0 is in it" : "0", PictureMark::Side::below, PictureMark::Shape::ring});
  if (!holds_zero)
    panel.marks.push_back({seen(nearest), fmt::format("nearest, {:.3g} away", norm(nearest)),
                           PictureMark::Side::above, PictureMark::Shape::disc});
  panel.titles = {fmt::format("∂f at {}: diameter {:.3g}", coordinates(at, 2), diameter(all)),
                  f.start.size() == 2 ? "∂/∂x" : "∂/∂x₁", f.start.size() == 2 ? "∂/∂y" : "∂/∂x₂"};
  auto inside = corners;
  inside.insert(inside.end(), {{0, 0}, nearest});
  const auto window = window_around(inside, 0.25);
  panel.x = {window.left, window.right};
  panel.y = {window.bottom, window.top};
  report::equalise(panel.x, panel.y, report::frame_width(part), height);
  return panel;
}

report::Picture to_picture(const Scene& scene) {
  constexpr double kPlaneHeight = 330;
  constexpr double kRowHeight = 190;
  report::Picture picture;
  picture.title = fmt::format("{}: {}", scene.f.name, scene.f.formula);
  if (scene.f.start.size() > 2)
    picture.subtitle = fmt::format(
        "In {} dimensions, of which the first two are drawn: the plane through the "
        "minimiser, and the paths seen from above.",
        scene.f.start.size());
  picture.legend.push_back(legend_of(scene));
  std::vector<report::LegendKey> others;
  if (scene.ideal) others.push_back(ideal_key(*scene.ideal));
  others.push_back({"equal f", {}, Ink::contour});
  if (!scene.f.kinks.empty() || scene.f.pieces.size() > 1) others.push_back({"kink", {}, Ink::kink});
  picture.legend.push_back(others);

  const auto add_all = [&](PicturePanel& panel, bool thin) {
    add_ideal(panel, scene);
    // What comes first in the list lies on top, and S-Adam on top of all.
    for (const bool probes : {false, true})
      for (auto i = scene.descents.size(); i-- > 0;)
        if (scene.descents[i].probes() == probes) add_path(panel, scene, i, thin);
  };
  const auto first_sadam = std::find_if(scene.descents.begin(), scene.descents.end(),
                                        [](const Descent& descent) { return descent.probes(); });
  const auto close_up = close_up_of(scene);
  report::PictureRow planes{kPlaneHeight, {}};
  auto whole = plane_panel(scene.f, window_of(scene), 0.5, kPlaneHeight);
  whole.titles.above = "Paths";
  if (first_sadam != scene.descents.end()) {
    add_brakes(whole, scene, static_cast<std::size_t>(first_sadam - scene.descents.begin()));
    whole.titles.above = fmt::format("Paths; discs: how hard {} brakes", first_sadam->of.name);
  }
  add_all(whole, false);
  add_start_and_minimum(whole, scene);
  planes.panels.push_back(std::move(whole));
  if (close_up) {
    auto near = plane_panel(scene.f, *close_up, 0.5, kPlaneHeight);
    near.titles.above = "Close-up of the minimum";
    add_all(near, true);
    near.marks.push_back({seen(*scene.f.minimiser), "", PictureMark::Side::below, PictureMark::Shape::ring});
    planes.panels.push_back(std::move(near));
  }
  report::PictureRow row{kRowHeight, {}};
  (close_up ? row : planes).panels.push_back(excess_panel(scene));
  picture.rows.push_back(std::move(planes));
  if (first_sadam != scene.descents.end()) row.panels.push_back(brake_panel(scene));
  if (scene.at) {
    const double part = 1.0 / (static_cast<double>(row.panels.size()) + 1);
    row.panels.push_back(clarke_panel(scene.f, *scene.at, part, kRowHeight));
  }
  if (!row.panels.empty()) picture.rows.push_back(std::move(row));
  picture.caption = in_words(scene);
  return picture;
}

}  // namespace sadam::lab
