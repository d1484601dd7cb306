// The optimizer a recipe asks for, and how it takes a step: plain, clipped, accumulated, or with the brakes
// of another run.
#pragma once

#include <sadam/step_summary.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "train/recipe/recipe.h"

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}
namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace sadam {
class Optimizer;
}

namespace sadam::train {

/// One of the batches a step is made of: its mean loss, computed anew at each call, and its share of the
/// step's images. The shares add up to one.
struct StepPart {
  std::function<at::Tensor()> loss;
  double share = 1;
};

class Stepper {
 public:
  /// `brakes`, if not empty, are used one after the other (and then again from the first) instead of probing.
  /// They are saved and loaded with the rest, so that a control that goes on needs the S-Adam run no more: it
  /// is made without them, and `load` brings them.
  Stepper(const torch::nn::Module& module, const Recipe& recipe, std::vector<double> brakes);
  ~Stepper();

  StepSummary step(const std::vector<StepPart>& parts, double lr);

  // ---- for steps that are captured as a whole ----

  /// Whether a step is the optimizer's own: one batch, no clipping between gradient and update.
  bool takes_plain_steps() const { return plain_; }
  Optimizer& optimizer();
  void set_lr(double lr);
  /// The brake of the coming step, which then counts as taken; nothing where the optimizer probes.
  std::optional<double> next_brake();

  void save(torch::serialize::OutputArchive& archive) const;
  void load(torch::serialize::InputArchive& archive);

 private:
  struct Optimizers;
  StepSummary split_step(const std::vector<StepPart>& parts);

  std::unique_ptr<Optimizers> optimizers_;
  std::vector<at::Tensor> buffers_;  ///< the module's
  std::vector<double> brakes_;
  bool braked_;  ///< by `brakes_`, which are still to be loaded if there are none
  double clip_;
  bool plain_;
  std::optional<std::size_t> braked_steps_;  ///< steps taken with brakes; known from the first on
};

/// Before a control begins: checks that the run it names is a finished S-Adam run, and puts the mean brake of
/// a `matched` control into the recipe, so that it is on record and the other run is needed no more.
void settle_control(Recipe& recipe);

/// The brakes that `recipe.control` asks for; empty if none. Those of a `shuffled` control are read from the
/// run that it names, in its first process; checkpoints keep them after that.
std::vector<double> brakes_of_control(const Recipe& recipe);

}  // namespace sadam::train
