#include "train/trained_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <algorithm>
#include <ostream>

#include "base/usage_error.h"
#include "nn/classifier.h"
#include "nn/load_weights.h"
#include "nn/weights/tensor_file.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/feed.h"
#include "train/recipe/source.h"
#include "train/setup.h"

namespace sadam::train {
namespace {

// What a weight file calls the recipe in its metadata.
constexpr const char* kRecipeKey = "recipe";

SavedRun last_checkpoint(const RunPaths& paths, std::ostream* said) {
  auto saved = read_checkpoint(paths, recipe_of(paths));
  if (saved) {
    if (said != nullptr && !saved->instead.empty()) *said << saved->instead << '\n';
    return std::move(*saved);
  }
  const auto& folder = paths.folder.string();
  if (is_in_use(paths))
    throw Error(fmt::format("{} has no checkpoint yet: wait until the process that trains it has saved one.",
                            folder));
  steps_without_checkpoint(paths);  // refuses, if there was one
  throw Error(fmt::format("{} has no checkpoint yet: train it for an epoch (sadam train --resume {}).",
                          folder, folder));
}

Position load_weights_of(const RunPaths& paths, torch::nn::Module& module, const CheckpointChoice& choice) {
  const auto saved =
      choice.best ? read_best_checkpoint(paths, recipe_of(paths)) : last_checkpoint(paths, choice.said);
  return naming_checkpoint(saved.path, [&] { return load_checkpoint(saved.file, module); });
}

struct TrainedNetwork {
  std::shared_ptr<nn::Classifier> classifier;
  Position position;
};

// The network that a run trained, from its own weights alone: those it started from may be gone.
TrainedNetwork network_of(const RunPaths& paths, Recipe recipe, const data::DataSet& data,
                          const CheckpointChoice& choice) {
  if (!paths.folder.empty()) recipe.model.weights.clear();
  TrainedNetwork network{make_network(recipe, data, LastLayer::must_fit).classifier, {}};
  if (!paths.folder.empty()) network.position = load_weights_of(paths, *network.classifier, choice);
  return network;
}

}  // namespace

std::optional<RunEvaluation> evaluate_run(const RunPaths& paths, const Recipe& recipe,
                                          const std::atomic<bool>* stop, const CheckpointChoice& choice) {
  auto settled = recipe;
  settled.train.threads = use_threads(recipe.train.threads);
  const auto data = DataSets().open(recipe.data);
  const auto device = device_named(recipe.train.device);
  std::optional<Deterministic> deterministic;
  if (recipe.train.deterministic) deterministic.emplace();
  const auto network = network_of(paths, recipe, data, choice);
  const TrainingPrecision precision(precision_of(recipe), device.is_cuda());
  const auto result = within_memory([&] {
    network.classifier->to(device);
    const auto feed = open_passing_feed(data.test, loader_options(settled, data, false), device);
    return evaluate(*network.classifier, *feed, {.stop = stop, .done = {}, .in_detail = true});
  });
  if (!result) return std::nullopt;
  return RunEvaluation{*result, network.position.step(), network.position.epoch, data.class_names};
}

NetworkAndBatch network_and_batch(const RunPaths& paths, const Recipe& recipe,
                                  const CheckpointChoice& choice) {
  auto settled = recipe;
  settled.train.threads = use_threads(recipe.train.threads);
  const auto data = DataSets().open(recipe.data);
  const auto device = device_named(recipe.train.device);
  settled.train.processes = 1;
  check_batches(settled, std::min(settled.train.batch, static_cast<std::int64_t>(data.train->size())),
                static_cast<std::int64_t>(data.train->pixels()));
  torch::manual_seed(static_cast<std::uint64_t>(recipe.seed));
  NetworkAndBatch found{network_of(paths, recipe, data, choice).classifier, {}};
  found.network->to(device);
  found.network->train();
  const auto feed = open_passing_feed(data.train, loader_options(settled, data, true), device);
  feed->start(0);
  const auto objective = objective_of(*found.network);
  for (const auto& tensor : objective.prepare(feed->next().front())) found.batch.push_back(tensor.clone());
  return found;
}

std::vector<std::byte> export_run(const RunPaths& paths, const Recipe& recipe,
                                  const CheckpointChoice& choice) {
  const auto data = DataSets().open(recipe.data);
  const auto network = network_of(paths, recipe, data, choice);
  const auto [mean, deviation] = loader_options(recipe, data, false).normalization;
  return nn::export_safetensors(*network.classifier,
                                {{"format", "pt"},
                                 {kRecipeKey, to_toml(recipe)},
                                 {"mean", fmt::format("[{}]", fmt::join(mean, ", "))},
                                 {"std", fmt::format("[{}]", fmt::join(deviation, ", "))},
                                 {"pixels", fmt::format("{}", data.train->pixels())},
                                 {"classes", fmt::format("{}", data.train->classes())}});
}

std::optional<Recipe> exported_recipe(const std::filesystem::path& path) {
  const auto file = weights::read_weights(path);
  const auto stored = file.metadata.find(kRecipeKey);
  if (stored == file.metadata.end()) return std::nullopt;
  try {
    // It would be read as the default recipe, which nobody wrote down.
    if (stored->second.find_first_not_of(" \t\r\n") == std::string::npos) throw UsageError("it is empty.");
    return recipe_in(stored->second, kRecipeKey);
  } catch (const UsageError& error) {
    std::string reason = error.what();
    if (reason.ends_with('.')) reason.pop_back();
    throw Error(fmt::format(
        "{}: the recipe in its metadata is malformed ({}): export the weights again, or give --ignore-recipe "
        "and say with --set what model and data they are for.",
        path.string(), reason));
  }
}

}  // namespace sadam::train
