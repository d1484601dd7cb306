#include "lab/descent.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <sadam/optimizer.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
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

bool Descent::probes() const { return of.recipe.optimizer.name == "sadam"; }

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

}  // namespace sadam::lab
