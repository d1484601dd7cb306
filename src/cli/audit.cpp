#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "lab/audit.h"
#include "report/picture.h"
#include "report/text_table.h"

namespace sadam::cli {
namespace {

constexpr const char* kAuditHelp =
    R"(Says how well each estimator of ρ tells smooth from non-smooth, on functions and
small networks whose kinks and jumps are known.

  sadam audit --quick
      under a minute
  sadam audit --csv audit.csv -o audit.svg
      in full, a few minutes; every number in a file, and a picture
  sadam audit --dimensions 2,1000 --radii 0.001,0.01
      other sizes

The areas under the ROC curve are 1 where ρ is always larger beside a kink, and
0.5 where it says nothing. docs/audit.md explains the columns and what each
estimator is good for. The same seed gives the same numbers.)";

struct AuditArguments {
  bool quick = false;
  std::uint64_t seed = 1;
  std::vector<std::string> dimensions;
  std::vector<std::string> radii;
  std::string csv;
  std::string picture;
  bool dark = false;
};

lab::AuditOptions options_from(const AuditArguments& arguments) {
  lab::AuditOptions options;
  options.quick = arguments.quick;
  options.seed = arguments.seed;
  for (const auto& text : arguments.radii)
    options.radii.push_back(number_from(text, "--radii", "0.001,0.01"));
  for (const auto& text : arguments.dimensions) {
    const double value = number_from(text, "--dimensions", "2,100");
    if (value < 2 || value != std::floor(value) || value > 1e18)
      throw UsageError(
          fmt::format("--dimensions takes whole numbers from 2 on, and not {}.", base::in_quotes(text)));
    options.dimensions.push_back(static_cast<std::size_t>(value));
  }
  return options;
}

/// "0.93 ±0.02".
std::string area_text(const std::optional<lab::Estimate>& area) {
  if (!area) return "–";
  const double half = std::max(area->value - area->low, area->high - area->value);
  return fmt::format("{:.2f} ±{:.2f}", area->value, half);
}

report::TextTable audit_table(const lab::Audit& audit) {
  report::TextTable table;
  constexpr auto kRight = report::Align::right;
  table.columns = {{"directions", "directions"}, {"statistic", "statistic"},  {"landscapes", "landscapes"},
                   {"networks", "networks"},     {"float32", "fp32", kRight}, {"cost", "cost", kRight},
                   {"scale", "scale", kRight},   {"rate", "rate", kRight}};
  for (const auto& line : lab::lines_of(audit)) {
    const auto change = [](double value) { return fmt::format("{:.2f}", value); };
    table.add({to_string(line.estimator.directions), to_string(line.estimator.statistic),
               area_text(line.landscapes), area_text(line.networks),
               line.in_float ? change(line.in_float->value) : "–", report::Cell::count(line.estimator.probes),
               change(line.loss_scale), change(line.learning_rate)});
  }
  return table;
}

std::string nearness_name(const lab::Separation& each) {
  return each.nearness == lab::Nearness::one ? "one" : "corner";
}

std::string audit_csv(const lab::Audit& audit) {
  report::TextTable table;
  for (const auto* key :
       {"measure",    "directions", "statistic", "probes", "on",           "precision",   "family",
        "dimension",  "kinks",      "radius",    "at",     "kinked",       "smooth",      "kinked_lgi",
        "smooth_lgi", "value",      "low",       "high",   "against_away", "against_twin"})
    table.columns.push_back({key, key});
  // More digits than chance leaves would only make the file longer.
  const auto value = [](double x) { return report::Cell::number(std::stod(fmt::format("{:.4g}", x)), 6); };
  const auto maybe = [&](const std::optional<double>& x) { return x ? value(*x) : report::Cell(); };
  const auto count = [](auto x) { return report::Cell::count(static_cast<std::int64_t>(x)); };
  const auto add = [&](const auto&... cells) { table.add({report::Cell(cells)...}); };
  for (const auto& each : audit.separations)
    add("area", to_string(each.estimator.directions), to_string(each.estimator.statistic),
        count(each.estimator.probes), each.is_network ? "networks" : "landscapes",
        each.in_float ? "float32" : "float64", each.family, count(each.dimension), nearness_name(each),
        value(each.radius), report::Cell(), count(each.kinked), count(each.smooth), value(each.kinked_lgi),
        value(each.smooth_lgi), value(each.area.value), value(each.area.low), value(each.area.high),
        maybe(each.against_away), maybe(each.against_twin));
  for (const auto& each : audit.dependences) {
    std::vector<report::Cell> row(table.columns.size());
    row[0] = to_string(each.on);
    row[1] = to_string(each.estimator.directions);
    row[2] = to_string(each.estimator.statistic);
    row[3] = count(each.estimator.probes);
    if (each.dimension > 0) row[7] = count(each.dimension);
    row[9] = value(each.on == lab::Dependence::On::rounding ? each.at : audit.radius);
    row[10] = value(each.at);
    row[13] = value(each.lgi);
    row[15] = value(each.change);
    table.add(std::move(row));
  }
  return to_csv(table);
}

void audit_now(const AuditArguments& arguments) {
  auto options = options_from(arguments);
  const auto csv = output_target(arguments.csv, "--csv");
  const auto picture = output_target(arguments.picture, "-o");
  if (!picture.empty()) report::check_picture_file(picture);
  const StopSignal stop;
  options.stop = &StopSignal::flag();
  const WorkLine doing;
  options.progress = [&](const std::string& what) { doing.say(what); };
  const auto audit = lab::run_audit(options);
  doing.clear();
  constexpr std::size_t kWidth = 80;
  std::cout << to_text(audit_table(audit), kWidth) << '\n'
            << report::wrapped(
                   fmt::format("Area under the ROC curve at radius {} with its 95 % interval: 1 tells kinks "
                               "and jumps from smooth without fail, 0.5 is a coin. fp32: networks in "
                               "float32. Cost: forward passes. Scale, rate: how far ρ moves if the loss is "
                               "multiplied by 0.001 to 1000, if the learning rate goes from 0.0001 to 0.01.",
                               audit.radius),
                   kWidth)
            << '\n';
  if (!csv.empty()) base::write_file_atomically(csv, audit_csv(audit));
  if (!picture.empty()) report::write_picture(picture, lab::picture_of(audit), arguments.dark);
}

}  // namespace

void add_audit(CLI::App& app) {
  const auto [command, arguments] = add_command<AuditArguments>(app, "audit", kAuditHelp, audit_now);
  command.add_flag("--quick", arguments.quick, "Fewer points, 10,000 dimensions at most: under a minute");
  add_seed_option(command, arguments.seed);
  add_list_option(command, "--dimensions", arguments.dimensions,
                  "Of landscapes and networks, separated by commas")
      ->default_str("2,100,10000,1000000");
  add_list_option(command, "--radii", arguments.radii, "Ascending, separated by commas")
      ->default_str("0.0001,0.001,0.01,0.1,1");
  add_output_option(command, "--csv", arguments.csv, "Also writes every number to this file");
  add_output_option(command, "-o,--output", arguments.picture, "Also draws a picture: .svg, .png or .pdf");
  command.add_flag("--dark", arguments.dark, "For a dark page; an SVG without it follows its reader");
}

}  // namespace sadam::cli
