#include <fmt/format.h>

#include <iostream>

#include "base/text.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "lab/landscape_picture.h"
#include "report/picture.h"
#include "report/text_table.h"

namespace sadam::cli {
namespace {

constexpr const char* kLandscapeHelp =
    R"(Draws optimizers on a function whose kinks are known, and says how near the
minimum they came.

  sadam landscape kinks
      the paper's |x-1| + |y-1| + (x² + y²)/2, drawn in kinks.svg
  sadam landscape valley --lr 0.02 --steps 1000 -o valley.png
  sadam landscape lasso --optimizers 'adamw,sadam,sadam k=8,matched'
  sadam landscape kinks --optimizers 'sadam directions=step statistic=residual'
  sadam landscape kinks --at 1,0.3
      with Clarke's subdifferential at that point

Landscapes: kinks, valley, lasso, max_affine, chain, staircase; quadratic,
softplus and logistic are smooth. docs/lab.md has their formulas.

An optimizer is sadam, adamw or prox_sgd, and behind it, separated by spaces, a
preset (paper, reference), cosine, or options as in a recipe (lr=0.01, k=8);
cosine alone is AdamW's. The controls matched and shuffled are AdamW with the
brakes of the S-Adam before them: their mean, or all of them in random order.
Learning rate 0.05, no decay and no L1 penalty unless said otherwise.

The picture has lines of equal value, kinks, paths, the ideal path (the
subgradient flow, with its error), where S-Adam brakes and how hard, and the
subdifferential. In more than two dimensions it shows the first two: the plane
through the minimiser, and the paths seen from above.)";

constexpr std::int64_t kMostDimensions = 1000;

struct LandscapeArguments {
  std::string name;
  std::vector<std::string> optimizers = {"adamw", "prox_sgd", "sadam", "matched", "cosine"};
  std::vector<std::string> sets;
  std::int64_t steps = 300;
  std::int64_t dimensions = 2;
  std::int64_t seed = 42;
  std::string start;
  std::string at;
  std::filesystem::path output;
  bool dark = false;
  Format format;
};

lab::Landscape landscape_for(const LandscapeArguments& arguments) {
  // The closed forms are for looking at: their kinks take memory that grows with the square.
  if (arguments.dimensions > kMostDimensions)
    throw UsageError(
        fmt::format("{} dimensions are more than 'sadam landscape' has room for; give {} at most.",
                    arguments.dimensions, kMostDimensions));
  if (arguments.dimensions < 2)
    throw UsageError(fmt::format("a landscape has 2 dimensions or more, and not {}.", arguments.dimensions));
  return lab::make_landscape(arguments.name, static_cast<std::size_t>(arguments.dimensions));
}

// "-1.5,2"; one number stands for all coordinates.
lab::Point point_from(const std::string& text, const std::string& option, const lab::Landscape& f) {
  lab::Point point;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(',', at), text.size());
    point.push_back(number_from(text.substr(at, end - at), option, "-1.5,2"));
    at = end + 1;
  }
  if (point.size() == 1) point.resize(f.start.size(), point.front());
  if (point.size() != f.start.size())
    throw UsageError(fmt::format("{} has {} coordinates and '{}' has {}: give as many, or one for all.",
                                 option, point.size(), f.name, f.start.size()));
  return point;
}

// A start on an axis, as some landscapes have, would make a path along a straight line.
lab::Point picture_start(const lab::Landscape& f) {
  auto start = f.start;
  if (start[0] == 0) start[0] = 1.5;
  return start;
}

void draw_landscape(const LandscapeArguments& arguments) {
  auto f = landscape_for(arguments);
  const auto file =
      arguments.output.empty() ? std::filesystem::path(fmt::format("{}.svg", f.name)) : arguments.output;
  report::check_picture_file(file);
  const auto start = arguments.start.empty() ? picture_start(f) : point_from(arguments.start, "--start", f);
  std::optional<lab::Point> at;
  if (!arguments.at.empty()) {
    if (f.cell > 0)
      throw UsageError(
          fmt::format("'{}' jumps, so that it has no Clarke subdifferential: leave out --at.", f.name));
    at = point_from(arguments.at, "--at", f);
    f.subdifferential(*at);  // refuses a point where too many kinks meet, before anything is run
  }
  const auto contestants = lab::contestants_named(arguments.optimizers, arguments.sets, arguments.seed);
  const auto scene = lab::make_scene(std::move(f), start, arguments.steps, contestants, at);
  report::write_picture(file, to_picture(scene), arguments.dark);
  if (arguments.format.is_for_programs()) {
    std::cout << arguments.format.text_of(to_points(scene));
    std::cerr << fmt::format("The picture is in {}.\n", file.string());
    return;
  }
  std::cout << fmt::format("{}: f = {}\n\n{}\n", scene.f.name, scene.f.formula,
                           to_text(to_table(scene), output_width()));
  auto sentences = in_words(scene);
  if (const auto about = about_table(scene); !about.empty()) sentences.insert(sentences.begin(), about);
  for (const auto& sentence : sentences) std::cout << report::wrapped(sentence, output_width()) << '\n';
  std::cout << fmt::format("\nThe picture is in {}.\n", file.string());
}

}  // namespace

void add_landscape(CLI::App& app) {
  const auto [command, arguments] =
      add_command<LandscapeArguments>(app, "landscape", kLandscapeHelp, draw_landscape);
  command.add_option("name", arguments.name, "The landscape")->required()->type_name("NAME");
  add_list_option(command, "--optimizers", arguments.optimizers, "Separated by commas")
      ->default_str("adamw,prox_sgd,sadam,matched,cosine");
  command.add_option("--steps", arguments.steps, "Steps of each")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str()
      ->type_name("COUNT");
  add_field_option<std::string>(command, "--lr", "optimizer.lr", arguments.sets, "RATE",
                                "Learning rate of all of them (optimizer.lr)");
  add_set_option(
      command, arguments.sets,
      "Changes a field for all of them, such as optimizer.probes=8; 'sadam info recipe' lists them");
  command.add_option("--seed", arguments.seed, "Seed of the directions")->capture_default_str();
  command.add_option("--start", arguments.start, "Where they begin; one number stands for all coordinates")
      ->type_name("X,Y");
  command.add_option("--dimensions", arguments.dimensions, "Of the function; kinks and valley have 2")
      ->capture_default_str()
      ->type_name("COUNT");
  command.add_option("--at", arguments.at, "Shows Clarke's subdifferential there; without it at the minimum")
      ->type_name("X,Y");
  add_output_option(command, "-o,--output", arguments.output, "A file ending in .svg, .png or .pdf; NAME.svg",
                    "name a file, or leave it out for the name of the landscape");
  command.add_flag("--dark", arguments.dark, "For a dark page; an SVG without it follows its reader");
  arguments.format.add_to(command, "For other programs: every step of every path",
                          "The same as an array of objects");
}

}  // namespace sadam::cli
