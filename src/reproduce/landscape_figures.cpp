#include "reproduce/landscape_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/usage_error.h"
#include "lab/landscape_picture.h"
#include "reproduce/table_recipe.h"

namespace sadam::reproduce {
namespace {

using lab::Scene;
using report::Ink;
using report::Picture;
using report::PictureCurve;
using report::PictureMark;
using report::PicturePanel;
using report::Spot;

// The order of the optimizers in a scene.
constexpr std::size_t kAdam = 0;
constexpr std::size_t kProx = 1;
constexpr std::size_t kSAdam = 2;
constexpr std::size_t kMatched = 3;

constexpr double kPlane = 300;  // how high the frames of the plane are

Scene scene_of(const std::string& name, const std::string& prox, std::int64_t steps,
               const LandscapeRequest& request) {
  std::vector<std::string> words = {"adamw", prox, "sadam"};
  if (request.controls) words.emplace_back("matched");
  auto contestants = lab::contestants_named(words, request.sets, request.seed);
  contestants[kAdam].name = "Adam";
  if (request.controls) contestants[kMatched].name = "Adam matched";
  auto f = lab::make_landscape(name);
  const auto start = f.start;
  return lab::make_scene(std::move(f), start, steps, contestants, std::nullopt);
}

std::vector<std::vector<report::LegendKey>> legend_for(const Scene& scene, bool with_control) {
  auto second = std::vector<report::LegendKey>{{"equal f", {}, Ink::contour}, {"kink", {}, Ink::kink}};
  if (scene.ideal) second.insert(second.begin(), lab::ideal_key(*scene.ideal));
  auto first = lab::legend_of(scene);
  if (!with_control) first.resize(std::min(first.size(), kMatched));
  return {first, second};
}

// Panel (d) of the first figure, and the second figure.
PicturePanel close_up(const Scene& scene, double part, double height, bool with_control) {
  // Where no optimizer comes near the minimum, where S-Adam ended.
  auto window = lab::close_up_of(scene);
  if (!window) {
    const auto& end = scene.descents[kSAdam].points.back();
    window = lab::Window{end[0] - 0.2, end[0] + 0.2, end[1] - 0.2, end[1] + 0.2};
  }
  auto panel = lab::plane_panel(scene.f, *window, part, height);
  lab::add_ideal(panel, scene);
  if (with_control && scene.descents.size() > kMatched) lab::add_path(panel, scene, kMatched, true);
  lab::add_path(panel, scene, kAdam, true);
  lab::add_path(panel, scene, kSAdam, true);
  panel.marks.push_back({{(*scene.f.minimiser)[0], (*scene.f.minimiser)[1]},
                         "",
                         PictureMark::Side::below,
                         PictureMark::Shape::ring});
  return panel;
}

Picture four_panels(const Scene& scene, const std::string& title) {
  Picture picture;
  picture.title = title;
  picture.legend = legend_for(scene, false);
  const auto window = lab::window_of(scene);
  const auto plane = [&](const char* above) {
    auto panel = lab::plane_panel(scene.f, window, 0.5, kPlane);
    panel.titles.above = above;
    lab::add_ideal(panel, scene);
    return panel;
  };
  auto ideal = plane("(a) The minimum and the ideal path");
  auto baselines = plane("(b) Adam and Prox-SGD");
  lab::add_path(baselines, scene, kProx);
  lab::add_path(baselines, scene, kAdam);
  auto brakes = plane("(c) S-Adam; the larger the disc, the harder it brakes");
  lab::add_path(brakes, scene, kSAdam);
  lab::add_brakes(brakes, scene, kSAdam);
  for (auto* panel : {&ideal, &baselines, &brakes}) lab::add_start_and_minimum(*panel, scene);
  auto end = close_up(scene, 0.5, kPlane, false);
  end.titles.above = lab::close_up_of(scene) ? "(d) S-Adam and Adam, close-up of the minimum"
                                             : "(d) S-Adam and Adam, close-up of where S-Adam ends";
  picture.rows = {{kPlane, {ideal, baselines}}, {kPlane, {brakes, end}}};
  picture.caption = in_words(scene);
  return picture;
}

Picture enlarged(const Scene& scene) {
  constexpr double kHeight = 420;
  constexpr double kPart = 0.62;
  Picture picture;
  picture.title = "Figure 2: the end of the paths, enlarged";
  picture.legend = legend_for(scene, true);
  auto end = close_up(scene, kPart, kHeight, true);
  end.titles.above = "Close-up of the minimum";
  end.share = kPart;
  auto excess = lab::excess_panel(scene);
  excess.share = 1 - kPart;
  picture.rows = {{kHeight, {end, excess}}};
  picture.caption = in_words(scene);
  picture.caption.emplace_back(
      "Adam is AdamW without decay. Adam matched: each step multiplied by S-Adam's mean brake.");
  return picture;
}

// ---- Figure 3 -------------------------------------------------------------------------------------------

constexpr double kLeft = -1;
constexpr double kRight = 3;
constexpr double kKink = 1;
constexpr double kSharpness = 6;  // of the smooth twin

// log(1 + eᵗ) + log(1 + e⁻ᵗ) is |t| with its kink rounded off.
double twin(double x) {
  const double t = kSharpness * (x - kKink);
  return (std::fabs(t) + 2 * std::log1p(std::exp(-std::fabs(t)))) / kSharpness + 0.5 * x * x;
}
double twin_slope(double x) { return std::tanh(kSharpness * (x - kKink) / 2) + x; }

// The paper's function along a line on which only one kink is met.
double with_kink(double x) { return std::fabs(x - kKink) + 0.5 * x * x; }

struct Slopes {
  double low;
  double high;
};
// ∂f along x, from the corners of the landscape's.
Slopes clarke_along_x(const lab::Landscape& f, double x) {
  Slopes slopes{INFINITY, -INFINITY};
  for (const auto& corner : f.subdifferential({x, 0.5})) {
    slopes.low = std::min(slopes.low, corner[0]);
    slopes.high = std::max(slopes.high, corner[0]);
  }
  return slopes;
}

template <class F>
std::vector<Spot> graph(const F& f, double from, double to) {
  constexpr int kPoints = 200;
  std::vector<Spot> points;
  for (int i = 0; i <= kPoints; ++i) {
    const double x = from + (to - from) * i / kPoints;
    points.push_back({x, f(x)});
  }
  return points;
}

PictureCurve tangent(double x, double value, double slope, report::LineStyle style) {
  constexpr double kReach = 0.9;
  return {{{x - kReach, value - kReach * slope}, {x + kReach, value + kReach * slope}},
          style,
          Ink::line,
          fmt::format("slope {:.2g}", slope)};
}

LandscapeFigure third() {
  constexpr std::size_t kFunction = 2;  // colours
  constexpr std::size_t kSlope = 1;
  const report::LineStyle dashed{kSlope, report::Stroke::dashed};
  const auto f = lab::make_landscape("kinks");
  PicturePanel smooth;
  smooth.titles = {"A smooth function, with three tangents", "x", "f"};
  smooth.x = {kLeft, kRight};
  smooth.y = {-0.7, 6.5};
  auto kinked = smooth;
  kinked.titles.above = "A function with a kink, and slopes of ∂f(1)";
  for (const double x : {-0.3, 1.0, 2.2}) {
    smooth.curves.push_back(tangent(x, twin(x), twin_slope(x), dashed));
    smooth.marks.push_back({{x, twin(x)}, "", PictureMark::Side::right, PictureMark::Shape::disc});
  }
  const auto at_kink = clarke_along_x(f, kKink);
  for (int i = 0; i <= 4; ++i)
    kinked.curves.push_back(
        tangent(kKink, with_kink(kKink), at_kink.low + (at_kink.high - at_kink.low) * i / 4, dashed));
  kinked.marks.push_back({{kKink, with_kink(kKink)}, "", PictureMark::Side::right, PictureMark::Shape::disc});
  smooth.curves.push_back({graph(twin, kLeft, kRight), {kFunction}, Ink::line, "f"});
  auto function = graph(with_kink, kLeft, kKink);
  const auto right_half = graph(with_kink, kKink, kRight);
  function.insert(function.end(), right_half.begin(), right_half.end());
  kinked.curves.push_back({function, {kFunction}, Ink::line, "f"});

  PicturePanel gradient;
  gradient.titles = {"Its gradient: one slope at every x", "x", "f′"};
  gradient.x = {kLeft, kRight};
  gradient.y = {-2.5, 4.5};
  auto clarke = gradient;
  clarke.titles = {
      fmt::format("Its Clarke subdifferential: [{:g}, {:g}] at x = 1", at_kink.low, at_kink.high), "x", "∂f"};
  gradient.curves.push_back({graph(twin_slope, kLeft, kRight), {kSlope}, Ink::line, "f′"});
  const auto low = [&](double x) { return clarke_along_x(f, x).low; };
  const auto high = [&](double x) { return clarke_along_x(f, x).high; };
  auto steps = graph(low, kLeft, kKink);
  const auto upper = graph(high, kKink, kRight);
  steps.insert(steps.end(), upper.begin(), upper.end());
  clarke.curves.push_back({steps, {kSlope}, Ink::line, "∂f"});
  clarke.curves.push_back({{{kKink, at_kink.low}, {kKink, at_kink.high}}, {kSlope}, Ink::ideal, "∂f(1)"});
  clarke.marks.push_back({{kKink, at_kink.low},
                          "0 is in ∂f(1): stationary",
                          PictureMark::Side::right,
                          PictureMark::Shape::ring});

  LandscapeFigure figure;
  figure.key = "figure3";
  figure.picture.title = "Figure 3: gradient and Clarke subdifferential";
  figure.picture.legend = {
      {{"f", {kFunction}, Ink::line, false}, {"slopes", dashed}, {"f′ and ∂f", {kSlope}, Ink::line, false}}};
  figure.picture.rows = {{240, {smooth, kinked}}, {200, {gradient, clarke}}};
  figure.picture.caption = {
      "Right: |x − 1| + x²/2, the paper's function along x. Left: the same with |x − 1| rounded off, "
      "(softplus(6(x − 1)) + softplus(−6(x − 1)))/6."};
  figure.numbers.columns = {{"x", "x"},           {"smooth", "smooth"},  {"gradient", "gradient"},
                            {"kinked", "kinked"}, {"clarke_low", "low"}, {"clarke_high", "high"}};
  const auto number = [](double value) { return report::Cell(value, fmt::format("{}", value)); };
  for (int i = 0; i <= 80; ++i) {
    const double x = kLeft + (kRight - kLeft) * i / 80;
    const auto slopes = clarke_along_x(f, x);
    figure.numbers.add({number(x), number(twin(x)), number(twin_slope(x)), number(with_kink(x)),
                        number(slopes.low), number(slopes.high)});
  }
  return figure;
}

LandscapeFigure figure_of(const char* key, Picture picture, const Scene& scene) {
  return {key, std::move(picture), to_points(scene), to_table(scene)};
}

LandscapeFigure first(const LandscapeRequest& request) {
  const auto scene = scene_of("kinks", "prox_sgd", 300, request);
  auto picture = four_panels(scene, fmt::format("Figure 1: {}", scene.f.formula));
  picture.caption.emplace_back(
      "Adam is AdamW without decay. The paper names neither steps nor learning rates.");
  return figure_of("figure1", std::move(picture), scene);
}

LandscapeFigure first_in_valley(const LandscapeRequest& request) {
  // With the others' learning rate Prox-SGD leaves the picture at once: the walls have a slope of 30.
  const auto scene = scene_of("valley", "prox_sgd lr=0.001", 1000, request);
  auto picture =
      four_panels(scene, fmt::format("Figure 1 on the authors' other function: {}", scene.f.formula));
  picture.caption.emplace_back("Adam is AdamW without decay.");
  return figure_of("figure1-valley", std::move(picture), scene);
}

LandscapeFigure second(const LandscapeRequest& request) {
  const auto scene = scene_of("kinks", "prox_sgd", 300, request);
  return figure_of("figure2", enlarged(scene), scene);
}

struct KnownFigure {
  std::string key;
  LandscapeFigure (*make)(const LandscapeRequest&);
};

}  // namespace

std::vector<LandscapeFigure> landscape_figures(const LandscapeRequest& request) {
  static const std::vector<KnownFigure> known = {
      {"figure1", first},
      {"figure1-valley", first_in_valley},
      {"figure2", second},
      {"figure3", [](const LandscapeRequest&) { return third(); }}};
  const auto keys = keys_of(known);
  for (const auto& wish : request.only)
    if (!contains(keys, wish))
      throw UsageError(fmt::format("--only {}: there is no such figure{}", base::in_quotes(wish),
                                   base::suggestion(wish, keys)));
  std::vector<LandscapeFigure> figures;
  for (const auto& each : known)
    if (request.only.empty() || contains(request.only, each.key)) figures.push_back(each.make(request));
  return figures;
}

}  // namespace sadam::reproduce
