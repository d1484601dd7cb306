#include "train/use_run.h"

#include <sadam/error.h>
#include <torch/nn/module.h>

#include "data/loader.h"
#include "nn/classifier.h"
#include "nn/load_weights.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/precision.h"
#include "train/recipe/run_recipe.h"
#include "train/recipe/source.h"
#include "train/resume.h"
#include "train/setup.h"
#include "train/within_memory.h"

namespace sadam::train {
namespace {

Position load_weights_of(const RunPaths& paths, torch::nn::Module& module) {
  const auto saved = read_checkpoint(paths, recipe_of(paths));
  if (!saved)
    throw Error(paths.folder.string() +
                " has no checkpoint yet: train it for an epoch (sadam train --resume " +
                paths.folder.string() + ").");
  try {
    return load_checkpoint(saved->file, module);
  } catch (const Error& error) {
    throw Error(paths.checkpoint().string() + ": " + error.what());
  }
}

struct TrainedNetwork {
  std::unique_ptr<nn::Classifier> classifier;
  Position position;
};

// The network that a run trained, from its own weights alone: those it started from may be gone.
TrainedNetwork network_of(const RunPaths& paths, Recipe recipe, const data::DataSet& data) {
  if (!paths.folder.empty()) recipe.model.weights.clear();
  TrainedNetwork network{make_network(recipe, data, LastLayer::must_fit).classifier, {}};
  if (!paths.folder.empty()) network.position = load_weights_of(paths, network.classifier->module());
  return network;
}

}  // namespace

std::optional<RunEvaluation> evaluate_run(const RunPaths& paths, const Recipe& recipe,
                                          const std::atomic<bool>* stop) {
  auto settled = recipe;
  settled.train.threads = use_threads(recipe.train.threads);
  const auto data = DataSets().open(recipe.data);
  const auto device = device_named(recipe.train.device);
  const auto network = network_of(paths, recipe, data);
  network.classifier->module().to(device);
  const TrainingPrecision precision(precision_named(recipe.train.precision), device.is_cuda());
  data::Loader loader(data.test, loader_options(settled, data, false));
  const auto result =
      within_memory([&] { return evaluate(*network.classifier, loader, data.test->pixels(), stop); });
  if (!result) return std::nullopt;
  return RunEvaluation{*result, network.position.step(), network.position.epoch};
}

std::vector<std::byte> export_run(const RunPaths& paths, const Recipe& recipe) {
  const auto data = DataSets().open(recipe.data);
  const auto network = network_of(paths, recipe, data);
  return nn::export_safetensors(network.classifier->module(),
                                {{"format", "pt"}, {"recipe", to_toml(recipe)}});
}

}  // namespace sadam::train
