// How a run's batches reach the network and steps are taken, on whichever device.
#pragma once

#include <sadam/step_summary.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/data_set.h"
#include "train/evaluate.h"
#include "train/recipe/recipe.h"

namespace sadam::nn {
class Classifier;
}

namespace sadam::train {

class DeviceMemory;
class Stepper;

/// Takes one step after the other. On a GPU it does not wait for them: their summaries come later.
class Steps {
 public:
  virtual ~Steps() = default;

  /// Batches in an epoch.
  virtual std::int64_t batches() const = 0;
  /// Begins epoch `epoch` with its batch number `first_batch`, both from 0.
  virtual void start(std::int64_t epoch, std::int64_t first_batch) = 0;
  /// The next step of the epoch, of as many batches as the recipe says, or as are left.
  virtual void step(double lr) = 0;

  /// The summaries of steps that were not given yet, oldest first. Unless `all` are asked for, some may be
  /// kept for later.
  virtual std::vector<StepSummary> summaries(bool all) = 0;

  /// The test set. Nothing if `stop` became true.
  virtual std::optional<Evaluation> evaluate(const std::atomic<bool>* stop) = 0;

  /// The most memory the run has taken so far, in bytes: of the device that trains.
  virtual std::int64_t peak_memory() const = 0;

  /// How the last step was taken, for the run's record: "" where there is but one way.
  virtual std::string manner() const { return {}; }
};

/// What a run is made of when its steps begin; all of it outlives the steps.
struct StepsRequest {
  const Recipe& recipe;
  const data::DataSet& data;
  nn::Classifier& network;
  Stepper& stepper;
  const DeviceMemory* device_memory = nullptr;  ///< on a GPU
};

std::unique_ptr<Steps> make_steps(const StepsRequest& request);

/// For a recipe's `train.device` that is a GPU; in device_steps.cpp.
std::unique_ptr<Steps> make_device_steps(const StepsRequest& request);

}  // namespace sadam::train
