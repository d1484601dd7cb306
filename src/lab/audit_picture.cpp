#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/audit.h"

namespace sadam::lab {
namespace {

std::string estimator_name(const Estimator& estimator) {
  return fmt::format("{}, {}", to_string(estimator.directions), to_string(estimator.statistic));
}

report::LineStyle estimator_style(const Estimator& estimator) {
  return {static_cast<std::size_t>(estimator.directions),
          estimator.statistic == Statistic::residual ? report::Stroke::solid : report::Stroke::dashed};
}

/// The two variances order points alike, so that one curve stands for both.
std::vector<Estimator> drawn_estimators() {
  auto all = audited_estimators();
  std::erase_if(all, [](const Estimator& each) { return each.statistic == Statistic::unbiased_variance; });
  return all;
}

/// The mean area at each power of ten that `exponent_of` finds.
report::PicturePanel area_panel(const Audit& audit, const std::string& title, const std::string& x_title,
                                const std::function<double(const Separation&)>& exponent_of,
                                const std::function<bool(const Separation&)>& is_wanted) {
  std::vector<double> places;
  std::vector<double> of_all;  // panels below each other have one axis
  for (const auto& each : audit.separations) {
    of_all.push_back(exponent_of(each));
    if (is_wanted(each)) places.push_back(of_all.back());
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  report::PicturePanel panel;
  panel.titles = {title, x_title, "area under ROC"};
  panel.x = report::range_of(of_all, 0.05);
  panel.y = {0, 1.03};
  panel.whole_x = true;
  panel.curves.push_back({{{panel.x.low, 0.5}, {panel.x.high, 0.5}}, {}, report::Ink::contour, "a coin"});
  for (const auto& estimator : drawn_estimators()) {
    report::PictureCurve curve{
        {}, estimator_style(estimator), report::Ink::line, estimator_name(estimator), report::Marks::at_end};
    for (const double x : places)
      if (const auto area = mean_where(audit, estimator, [&](const Separation& each) {
            return is_wanted(each) && exponent_of(each) == x;
          }))
        curve.points.push_back({x, area->value});
    if (!curve.points.empty()) panel.curves.push_back(std::move(curve));
  }
  return panel;
}

}  // namespace

report::Picture picture_of(const Audit& audit) {
  report::Picture picture;
  picture.title = "How well ρ tells smooth from non-smooth";
  picture.subtitle =
      fmt::format("Area under the ROC curve: 1 is always, 0.5 a coin. k = {} probes, one along the step.",
                  kAuditedProbes);
  auto& keys = picture.legend.emplace_back();
  for (const auto& each : drawn_estimators())
    keys.push_back({estimator_name(each), estimator_style(each), report::Ink::line, true});
  const auto log_radius = [](const Separation& each) { return std::log10(each.radius); };
  const auto over_radii = [&](const std::string& title, bool networks, bool in_float) {
    return area_panel(audit, title, "log₁₀ of the radius", log_radius, [=](const Separation& each) {
      return each.is_network == networks && each.in_float == in_float && each.dimension <= kMostOverRadii;
    });
  };
  // Networks have about as many weights as the landscapes have dimensions.
  const auto log_dimension = [](const Separation& each) {
    return std::round(20 * std::log10(static_cast<double>(each.dimension))) / 20;
  };
  const auto over_dimensions = [&](const std::string& title, bool networks, bool in_float) {
    return area_panel(audit, fmt::format("{}, radius {}", title, audit.radius), "log₁₀ of the dimension",
                      log_dimension, [&audit, networks, in_float](const Separation& each) {
                        return each.is_network == networks && each.in_float == in_float &&
                               each.radius == audit.radius && (networks || each.family == "chain");
                      });
  };
  constexpr double kHeight = 220;
  const auto add_row = [&](const std::string& title, bool networks, bool in_float) {
    // Of the landscapes only the chain has every dimension.
    picture.rows.push_back({kHeight,
                            {over_radii(title, networks, in_float),
                             over_dimensions(networks ? title : "chain", networks, in_float)}});
  };
  add_row("landscapes", false, false);
  add_row("networks", true, false);
  add_row("networks in float32", true, true);
  picture.caption = {
      "Dashed: variance; unbiased_variance orders points alike. Below 0.5 ρ is smaller beside a kink."};
  return picture;
}

}  // namespace sadam::lab
