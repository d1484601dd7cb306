#include "train/use_run.h"

#include <sadam/error.h>
#include <torch/nn/module.h>

#include "base/file.h"
#include "data/loader.h"
#include "nn/classifier.h"
#include "nn/load_weights.h"
#include "train/checkpoint.h"
#include "train/recipe/source.h"
#include "train/setup.h"

namespace sadam::train {
namespace {

void load_weights_of(const RunPaths& paths, torch::nn::Module& module) {
  if (!std::filesystem::exists(paths.checkpoint()))
    throw Error(paths.folder.string() +
                " has no checkpoint yet: train it for an epoch (sadam train --resume " +
                paths.folder.string() + ").");
  try {
    load_checkpoint(base::read_file(paths.checkpoint()), module);
  } catch (const Error& error) {
    throw Error(paths.checkpoint().string() + ": " + error.what());
  }
}

// The network that a run trained, from its own weights alone: those it started from may be gone.
std::unique_ptr<nn::Classifier> network_of(const RunPaths& paths, Recipe recipe, const data::DataSet& data) {
  if (!paths.folder.empty()) recipe.model.weights.clear();
  auto network = make_network(recipe, data, LastLayer::must_fit).classifier;
  if (!paths.folder.empty()) load_weights_of(paths, network->module());
  return network;
}

}  // namespace

std::optional<Evaluation> evaluate_run(const RunPaths& paths, const Recipe& recipe,
                                       const std::atomic<bool>* stop) {
  const int threads = use_threads(recipe.train.threads);
  const auto data = DataSets().open(recipe.data);
  const auto network = network_of(paths, recipe, data);
  data::LoaderOptions options;
  options.batch = static_cast<std::size_t>(recipe.train.evaluate_batch);
  options.shuffle = false;
  options.threads = threads;
  options.normalization = normalization_for(recipe, data);
  data::Loader loader(data.test, options);
  const auto result = evaluate(*network, loader, data.test->pixels(), stop);
  return result;
}

std::vector<std::byte> export_run(const RunPaths& paths, const Recipe& recipe) {
  const auto data = DataSets().open(recipe.data);
  const auto network = network_of(paths, recipe, data);
  return nn::export_safetensors(network->module(), {{"format", "pt"}, {"recipe", to_toml(recipe)}});
}

}  // namespace sadam::train
