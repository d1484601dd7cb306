// What a trained run is good for: evaluating it again, and taking its weights elsewhere.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <vector>

#include "train/recipe/recipe.h"
#include "train/record/run_folder.h"
#include "train/training.h"

namespace sadam::train {

/// Which checkpoint of a run.
struct CheckpointChoice {
  bool best = false;             ///< that of the best epoch, instead of the last one
  std::ostream* said = nullptr;  ///< gets a line if the last is damaged and the one before it is used
};

struct RunEvaluation : Evaluation {
  // Of the checkpoint; 0 where there is none.
  std::int64_t step = 0;
  std::int64_t epoch = 0;                ///< whole ones
  std::vector<std::string> class_names;  ///< where the data set has them
};

/// Evaluates a checkpoint of a run on the test set of `recipe.data`, which need not be the run's own.
/// With `recipe.model.weights` from elsewhere and no checkpoint (`paths.folder` empty), those weights.
/// Nothing if `stop` became true.
std::optional<RunEvaluation> evaluate_run(const RunPaths& paths, const Recipe& recipe,
                                          const std::atomic<bool>* stop, const CheckpointChoice& choice = {});

/// A trained network in training mode, where `recipe.train.device` says, and one batch of its training set.
struct NetworkAndBatch {
  std::shared_ptr<nn::Classifier> network;
  TensorBatch batch;  ///< prepared
};
/// From a checkpoint of a run, or from `recipe.model.weights`, as `evaluate_run` takes them.
NetworkAndBatch network_and_batch(const RunPaths& paths, const Recipe& recipe,
                                  const CheckpointChoice& choice = {});

/// A checkpoint's weights as a safetensors file. Its metadata are the recipe, and what images must be for the
/// network: (byte/255 − mean)/std for red, green and blue, so many pixels wide and high.
std::vector<std::byte> export_run(const RunPaths& paths, const Recipe& recipe,
                                  const CheckpointChoice& choice = {});

/// The recipe that `export_run` put into a weight file; nothing if there is none in it. Throws an Error for
/// one that is malformed.
std::optional<Recipe> exported_recipe(const std::filesystem::path& path);

}  // namespace sadam::train
