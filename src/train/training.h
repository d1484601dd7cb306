// The training of a network as a recipe says, one step after the other: its optimizer, clipping, the brakes
// of another run; and how well it does on a whole data set.
#pragma once

#include <sadam/step_summary.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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
class AveragedWeights;
class GraphedStep;
class Optimizer;
}  // namespace sadam
namespace sadam::nn {
class Classifier;
}

namespace sadam::train {

class ChatterMeter;
class Feed;
class Team;

/// Images and their labels, where the network is.
using TensorBatch = std::vector<at::Tensor>;

/// What is trained: a module, and what it is to make small.
struct Objective {
  std::shared_ptr<torch::nn::Module> module;
  /// The mean over a batch that was prepared, computed anew at each call.
  std::function<at::Tensor(const TensorBatch&)> loss;
  /// Once for a batch, before all of its evaluations: what does not depend on the weights. May be null.
  std::function<TensorBatch(const TensorBatch&)> prepare;
};
/// A classifier and its cross-entropy. The classifier must outlive it.
Objective objective_of(nn::Classifier& network);

class Training {
 public:
  /// `brakes`, if not empty, are used one after the other (and then again from the first) instead of probing.
  /// They are saved and loaded with the rest, so that a control that goes on needs the S-Adam run no more: it
  /// is made without them, and `load` brings them.
  Training(Objective objective, const Recipe& recipe, std::vector<double> brakes);
  ~Training();

  /// One step on all of these batches, each by its share of the images. On a GPU it is not waited for. Where
  /// the optimizer is one of several that split the batch, these are this rank's, and may be empty.
  void step(const std::vector<TensorBatch>& batches, double lr);

  /// Takes the weights as they are now into their average, where the recipe has one.
  void update_average();
  /// While it lives, the network has the averaged weights. Null where there is no average yet.
  std::shared_ptr<const void> use_average() const;

  Optimizer& optimizer() { return *optimizer_; }
  /// Where the recipe asks for it; else null.
  ChatterMeter* chatter() { return chatter_.get(); }

  /// How the last step was taken, for the run's record; "" on the CPU, where there is but one way.
  std::string way_of_stepping() const;

  void save(torch::serialize::OutputArchive& archive) const;
  void load(torch::serialize::InputArchive& archive);

 private:
  std::vector<std::function<at::Tensor()>> losses_of(const std::vector<TensorBatch>& prepared) const;
  at::Tensor probe_loss(const TensorBatch& prepared) const;
  std::optional<double> next_brake();
  void clip_gradients() const;

  Objective objective_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<ChatterMeter> chatter_;
  std::unique_ptr<AveragedWeights> average_;
  std::vector<double> brakes_;
  bool braked_;  ///< by `brakes_`, which are still to be loaded if there are none
  double clip_;
  std::int64_t probe_images_;                ///< of a batch; 0: all
  std::unique_ptr<GraphedStep> graphed_;     ///< on a GPU, where a step is one batch without clipping
  std::optional<std::size_t> braked_steps_;  ///< steps taken with brakes; known from the first on
};

/// Gives the module the average that a Training has saved, if there is one.
void load_average(torch::serialize::InputArchive& of_training, const torch::nn::Module& module);

struct Evaluation {
  double loss = 0;      ///< mean cross-entropy
  double accuracy = 0;  ///< between 0 and 1
  std::int64_t images = 0;

  // In detail only.
  struct OfClass {
    std::int64_t images = 0;
    std::int64_t right = 0;
  };
  std::optional<double> top5_accuracy;  ///< where there are more than five classes
  std::vector<OfClass> classes;
};

struct EvaluationOptions {
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::int64_t)> done;  ///< told before each batch how many are done
  bool in_detail = false;                  ///< also classes and top 5; waits for a GPU after every batch
  const Team* team = nullptr;              ///< all of whom evaluate, each what its feed has; not in detail
};

/// Puts the network into evaluation mode and back into the mode it was in. Nothing if `stop` became true.
std::optional<Evaluation> evaluate(nn::Classifier& classifier, Feed& feed, const EvaluationOptions& options);

/// Cross-entropy from logits in double: nearby float32 losses cannot be told apart otherwise.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace sadam::train
