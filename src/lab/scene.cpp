#include "lab/scene.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/optimizer.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>
#include <set>
#include <sstream>

#include "base/statistics.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "train/progress.h"
#include "train/recipe/source.h"
#include "train/schedule.h"
#include "train/trainer.h"
#include "train/training.h"

namespace sadam::lab {

// ---- who goes down ----------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kMostContestants = 12;

struct NamedOptimizer {
  const char* word;
  const char* name;
};
constexpr std::array<NamedOptimizer, 3> kOptimizers = {
    {{"sadam", "S-Adam"}, {"adamw", "AdamW"}, {"prox_sgd", "Prox-SGD"}}};
constexpr std::array<const char*, 3> kControls = {"matched", "shuffled", "cosine"};
constexpr std::array<const char*, 2> kPresets = {"paper", "reference"};

bool is_one_of(const auto& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

[[noreturn]] void refuse_word(const std::string& word) {
  std::vector<std::string> valid;
  for (const auto& known : kOptimizers) valid.emplace_back(known.word);
  valid.insert(valid.end(), kControls.begin(), kControls.end());
  valid.insert(valid.end(), kPresets.begin(), kPresets.end());
  throw UsageError(
      fmt::format("there is no optimizer {}{}", base::in_quotes(word), base::suggestion(word, valid)));
}

/// Refuses fields that are none, and those of data, networks and training, which decide nothing here.
void check_sets(const std::vector<std::string>& sets) {
  train::RecipeSource source;
  for (const auto& each : sets) source.set(each);
  source.resolve();
  for (const auto& each : sets)
    if ((!each.starts_with("optimizer.") && !each.starts_with("schedule.")) ||
        each.starts_with("optimizer.name="))
      throw UsageError(fmt::format(
          "--set {}: on a landscape only options of 'optimizer', its name apart, and 'schedule' decide "
          "anything; leave it out.",
          base::printable(each)));
}

Contestant contestant_named(const std::string& text, const std::vector<std::string>& sets,
                            std::int64_t seed) {
  std::istringstream stream(text);
  std::vector<std::string> words(std::istream_iterator<std::string>(stream), {});
  if (words.empty()) throw UsageError("an optimizer has no name: write sadam, adamw or prox_sgd.");
  if (is_one_of(kControls, words.front())) words.insert(words.begin(), "adamw");
  const auto known = std::find_if(kOptimizers.begin(), kOptimizers.end(),
                                  [&](const NamedOptimizer& each) { return words.front() == each.word; });
  if (known == kOptimizers.end()) refuse_word(words.front());

  train::RecipeSource source;
  source.add_text("[optimizer]\nlr = 0.05\nweight_decay = 0.0\nl1 = 0.0\n", "the landscape's settings");
  for (const auto& each : sets) source.set(each);
  source.set(fmt::format("optimizer.name={}", known->word));
  source.set(fmt::format("seed={}", seed));
  Contestant contestant{known->name, {}};
  std::string control = "none";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto& word = words[i];
    if (word == "cosine") {
      source.set("schedule.name=cosine");
    } else if (is_one_of(kControls, word)) {
      if (words.front() != "adamw")
        throw UsageError(fmt::format("'{0}' is a control: write 'adamw {0}'.", word));
      control = word;
    } else if (is_one_of(kPresets, word)) {
      if (words.front() != "sadam")
        throw UsageError(fmt::format("'{0}' is a preset of S-Adam: write 'sadam {0}'.", word));
      source.set(fmt::format("optimizer.preset={}", word));
    } else if (word.find('=') == std::string::npos) {
      refuse_word(word);
    } else {
      const auto field = word.starts_with("k=") ? fmt::format("probes{}", word.substr(1)) : word;
      source.set(fmt::format("optimizer.{}", field), fmt::format("optimizer '{}'", text));
    }
    contestant.name += fmt::format(" {}", word);
  }
  contestant.recipe = source.resolve();
  contestant.recipe.control.kind = control;
  return contestant;
}

/// The one parameter of a landscape.
struct Place : torch::nn::Module {
  explicit Place(const Point& start) { w = register_parameter("x", at::tensor(start, at::kDouble)); }
  Point point() const {
    const auto* data = w.data_ptr<double>();
    return {data, data + w.numel()};
  }
  at::Tensor w;
};

std::vector<double> brakes_for(const train::Recipe& recipe, const std::vector<double>& of_sadam) {
  const auto& kind = recipe.control.kind;
  if (kind == "matched") return {base::mean(of_sadam)};
  if (kind != "shuffled") return {};
  auto brakes = of_sadam;
  std::mt19937_64 generator(static_cast<std::uint64_t>(recipe.seed));
  std::shuffle(brakes.begin(), brakes.end(), generator);
  return brakes;
}

}  // namespace

std::vector<Contestant> contestants_named(const std::vector<std::string>& words,
                                          const std::vector<std::string>& sets, std::int64_t seed) {
  check_sets(sets);
  std::vector<Contestant> contestants;
  const train::Recipe* controlled = nullptr;
  contestants.reserve(words.size());
  for (const auto& text : words) {
    auto contestant = contestant_named(text, sets, seed);
    if (contestant.recipe.control.kind != "none") {
      if (controlled == nullptr)
        throw UsageError(
            fmt::format("'{}' takes the brakes of an S-Adam: name one before it, as in 'sadam,{}'.", text,
                        contestant.recipe.control.kind));
      contestant.recipe.optimizer.bias_correction = controlled->optimizer.bias_correction;
    }
    contestants.push_back(std::move(contestant));
    if (contestants.back().recipe.optimizer.name == "sadam") controlled = &contestants.back().recipe;
  }
  if (contestants.size() > kMostContestants)
    throw UsageError(fmt::format("{} optimizers are too many for one picture: name {} at most.",
                                 contestants.size(), kMostContestants));
  return contestants;
}

double Descent::mean_brake() const { return brakes.empty() ? 1 : base::mean(brakes); }

std::vector<Descent> descend(const Landscape& f, const Point& start, std::int64_t steps,
                             const std::vector<Contestant>& contestants) {
  std::vector<Descent> descents;
  std::vector<double> of_sadam;
  // Skipped steps are counted; torch would write them between the lines of the table.
  train::Progress unseen;
  const train::ShownWarnings warnings(unseen);
  for (const auto& contestant : contestants) {
    const auto place = std::make_shared<Place>(start);
    const auto& recipe = contestant.recipe;
    train::Training training(
        {place, [&f, &place](const train::TensorBatch&) { return f.loss(place->w); }, {}}, recipe,
        brakes_for(recipe, of_sadam));
    const train::TensorBatch batch = {at::zeros({1}), at::zeros({1})};  // the loss asks for none
    Descent descent{contestant, {start}, {}, 0, {}};
    std::optional<train::ChatterMeter> meter;
    for (std::int64_t step = 0; step < steps; ++step) {
      const double factor = train::schedule_factor(recipe.schedule, step, {steps, 1});
      if (step == steps - kChatterSteps) meter.emplace(std::vector{place->w}, kChatterSteps);
      training.step({batch}, recipe.optimizer.lr * factor);
      if (meter) meter->step();
      descent.points.push_back(place->point());
      descent.brakes.push_back(training.optimizer().summary().brake);
    }
    descent.skipped = training.optimizer().totals().skipped;
    if (meter) descent.chattering = meter->take().front();
    if (descent.probes()) of_sadam = descent.brakes;
    descents.push_back(std::move(descent));
  }
  return descents;
}

// ---- what there is to see ---------------------------------------------------------------------------------

namespace {

bool is_finite(const Point& point) {
  return std::all_of(point.begin(), point.end(), [](double each) { return std::isfinite(each); });
}

std::optional<double> stationarity_of(const Landscape& f, const Point& point) {
  if (f.cell > 0 || !is_finite(point)) return std::nullopt;
  try {
    return f.stationarity(point);
  } catch (const Error&) {  // too many kinks meet
    return std::nullopt;
  }
}

struct NearKinks {
  std::vector<double> near;  ///< brakes of steps that began within δ of a kink
  std::vector<double> away;
};
NearKinks brakes_by_place(const Scene& scene, const Descent& descent) {
  NearKinks brakes;
  for (std::size_t i = 0; i < descent.brakes.size(); ++i)
    (scene.f.has_kink_within(descent.points[i], descent.of.recipe.optimizer.radius) ? brakes.near
                                                                                    : brakes.away)
        .push_back(descent.brakes[i]);
  return brakes;
}

/// The squared standard error of a mean.
double squared_error(const std::vector<double>& values) {
  const double spread = base::deviation(values).value_or(INFINITY);
  return spread * spread / static_cast<double>(values.size());
}

/// What the brake does near kinks: a difference counts from two standard errors on.
std::string verdict(const NearKinks& brakes) {
  const double difference = base::mean(brakes.near) - base::mean(brakes.away);
  const double error = std::sqrt(squared_error(brakes.near) + squared_error(brakes.away));
  if (!(std::fabs(difference) > 2 * error)) return "no difference beyond chance";
  return difference < 0 ? "it brakes harder there" : "it brakes less there";
}

}  // namespace

std::string coordinates(const Point& point, std::size_t most) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < std::min(point.size(), most); ++i)
    all.push_back(fmt::format("{}{:.4g}", point[i] < 0 ? "−" : "", std::fabs(point[i])));
  if (point.size() > most) all.emplace_back("…");
  return fmt::format("({})", fmt::join(all, ", "));
}

std::string power_above(double value) {
  return fmt::format("1e{}", static_cast<int>(std::floor(std::log10(value))) + 1);
}

std::string shown_name(const Descent& descent) {
  const bool matched = descent.of.recipe.control.kind == "matched";
  return matched ? fmt::format("{}: × {:.2f}", descent.of.name, descent.mean_brake()) : descent.of.name;
}

double excess(const Landscape& f, const Point& point) { return f.value(point) - f.lowest; }

Scene make_scene(Landscape f, const Point& start, std::int64_t steps,
                 const std::vector<Contestant>& contestants, std::optional<Point> at) {
  Scene scene;
  scene.start = start;
  scene.descents = descend(f, start, steps, contestants);
  scene.at = std::move(at);
  if (!scene.at && !f.is_smooth() && f.minimiser && stationarity_of(f, *f.minimiser)) scene.at = f.minimiser;
  scene.f = std::move(f);
  // The work grows with the cube of the dimension.
  constexpr std::size_t kMostForFlow = 30;
  if (start.size() > kMostForFlow) {
    scene.no_ideal = fmt::format("it is integrated in {} dimensions at most.", kMostForFlow);
    return scene;
  }
  try {
    scene.ideal = subgradient_flow(scene.f, start);
  } catch (const Error& error) {
    scene.no_ideal = error.what();
  }
  return scene;
}

std::vector<std::string> in_words(const Scene& scene) {
  std::vector<std::string> words;
  const auto steps = scene.descents.empty() ? 0 : scene.descents.front().brakes.size();
  const auto& first = scene.descents.front().of.recipe;
  std::set<double> rates;
  for (const auto& descent : scene.descents) rates.insert(descent.of.recipe.optimizer.lr);
  words.push_back(fmt::format("{} steps from {}, learning rate{} {}, exact gradients, seed {}.", steps,
                              coordinates(scene.start), rates.size() > 1 ? "s" : "", fmt::join(rates, ", "),
                              first.seed));
  if (scene.ideal)
    words.push_back(
        fmt::format("Ideal path: the subgradient flow, with an error below {} (its largest distance from one "
                    "with twice the step).",
                    power_above(scene.ideal->error)));
  else
    words.push_back(fmt::format("There is no ideal path: {}", scene.no_ideal));
  for (const auto& descent : scene.descents)
    if (descent.skipped > 0)
      words.push_back(
          fmt::format("{}: {} of {} steps were skipped, because the loss or the gradient was not finite.",
                      descent.of.name, descent.skipped, steps));
  for (const auto& descent : scene.descents) {
    if (!descent.probes()) continue;
    if (scene.f.is_smooth()) {
      words.push_back(fmt::format("{}: mean brake {:.2f} on a function without kinks.", descent.of.name,
                                  descent.mean_brake()));
      continue;
    }
    const auto brakes = brakes_by_place(scene, descent);
    const auto where = fmt::format("within δ = {} of a {}", descent.of.recipe.optimizer.radius,
                                   scene.f.cell > 0 ? "jump" : "kink");
    if (brakes.near.empty() || brakes.away.empty())
      words.push_back(fmt::format("{} was {} {}; mean brake {:.2f}.", descent.of.name,
                                  brakes.near.empty() ? "never" : "always", where, descent.mean_brake()));
    else
      words.push_back(fmt::format("{}: mean brake {:.2f} in the {} steps {}, {:.2f} in the other {}: {}.",
                                  descent.of.name, base::mean(brakes.near), brakes.near.size(), where,
                                  base::mean(brakes.away), brakes.away.size(), verdict(brakes)));
  }
  return words;
}

report::TextTable to_table(const Scene& scene) {
  using report::Align;
  using report::Cell;
  report::TextTable table;
  table.columns = {{"optimizer", "optimizer"},
                   {"excess", "f − f*", Align::right},
                   {"distance", "distance", Align::right},
                   {"stationarity", "dist(0, ∂f)", Align::right},
                   {"mean_brake", "brake", Align::right},
                   {"chatter", "chatter", Align::right},
                   {"flips", "flips", Align::right}};
  const auto small = [](double value) { return Cell(value, fmt::format("{:.2e}", value)); };
  for (const auto& descent : scene.descents) {
    const auto& end = descent.points.back();
    const auto slope = stationarity_of(scene.f, end);
    const bool braked = descent.probes() || descent.of.recipe.control.kind != "none";
    Cell chatter;
    Cell flips;
    if (const auto& found = descent.chattering) {
      if (std::isfinite(found->chatter)) chatter = Cell::number(found->chatter, 2);
      flips = Cell::number(found->flips, 2);
    }
    table.add({shown_name(descent), small(excess(scene.f, end)),
               scene.f.minimiser ? small(norm(sum(end, *scene.f.minimiser, -1))) : Cell(),
               slope ? small(*slope) : Cell(), braked ? Cell::number(descent.mean_brake(), 3) : Cell(),
               chatter, flips});
  }
  return without_empty_columns(table);
}

std::string about_table(const Scene& scene) {
  if (!scene.descents.front().chattering) return "";
  return fmt::format(
      "Chatter (1 − net displacement / path) and flips (of signs of updates): the last {} steps.",
      kChatterSteps);
}

report::TextTable to_points(const Scene& scene) {
  using report::Cell;
  report::TextTable table;
  table.columns = {{"optimizer", "optimizer"}, {"step", "step"},  {"x", "x"}, {"y", "y"},
                   {"excess", "f − f*"},       {"brake", "brake"}};
  const auto number = [](double value) { return Cell(value, fmt::format("{}", value)); };
  for (const auto& descent : scene.descents)
    for (std::size_t i = 0; i < descent.points.size(); ++i) {
      const auto& point = descent.points[i];
      table.add({descent.of.name, Cell::count(static_cast<std::int64_t>(i)), number(point[0]),
                 number(point[1]), number(excess(scene.f, point)),
                 i == 0 ? Cell() : number(descent.brakes[i - 1])});
    }
  if (!scene.ideal) return table;
  // A few hundred of its points say it all.
  const auto& ideal = scene.ideal->points;
  const auto stride = ideal.size() / 500 + 1;
  for (std::size_t i = 0; i < ideal.size(); i += stride)
    table.add({"ideal path", Cell(), number(ideal[i][0]), number(ideal[i][1]),
               number(excess(scene.f, ideal[i])), Cell()});
  return table;
}

}  // namespace sadam::lab
