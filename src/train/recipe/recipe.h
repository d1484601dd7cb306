// A recipe: everything that decides how a run goes, as data. docs/recipes.md explains every field.
#pragma once

#include <sadam/choices.h>
#include <sadam/option_list.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "nn/model.h"
#include "step/option_names.h"

namespace sadam::train {

// ---- what is chosen by name -------------------------------------------------------------------------------
// Recipes hold the names. Whoever follows one turns it into its enum with `value_named` and switches over all
// of them.

// clang-format off
#define SADAM_SCHEDULES(VALUE)                                                                               \
  VALUE(constant, "the learning rate stays")                                                                 \
  VALUE(cosine, "falls along half a cosine to `floor` at the end of the run")                                \
  VALUE(step, "is multiplied by `factor` every so many epochs")                                              \
  VALUE(inverse_power, "falls as (1 + t)^(−power)")

#define SADAM_CONTROLS(VALUE)                                                                                \
  VALUE(none, "no control")                                                                                  \
  VALUE(constant, "AdamW with one brake on every step")                                                      \
  VALUE(matched, "AdamW with the mean brake of another run")                                                 \
  VALUE(shuffled, "AdamW with the brakes of another run in random order")                                    \
  VALUE(replayed, "AdamW with the brakes of another run, step by step")

#define SADAM_OPTIMIZERS(VALUE)                                                                              \
  VALUE(sadam, "S-Adam")                                                                                     \
  VALUE(adamw, "AdamW")                                                                                      \
  VALUE(prox_sgd, "Prox-SGD")

#define SADAM_PRECISIONS(VALUE)                                                                              \
  VALUE(float32, "nothing less: torch's own default lets cuDNN use TF32")                                    \
  VALUE(tf32, "TF32 in matrix products and convolutions on CUDA devices; on the CPU this is float32")        \
  VALUE(bf16, "autocasting to bfloat16; what it leaves alone is float32")
// clang-format on

enum class Schedule { SADAM_SCHEDULES(SADAM_ENUMERATOR) };
enum class Control { SADAM_CONTROLS(SADAM_ENUMERATOR) };
enum class OptimizerKind { SADAM_OPTIMIZERS(SADAM_ENUMERATOR) };
/// What training steps are computed in. Probes inside them are in float32 all the same (step/precision.h).
enum class Precision { SADAM_PRECISIONS(SADAM_ENUMERATOR) };

SADAM_FAMILY(Schedule, SADAM_SCHEDULES)
SADAM_FAMILY(Control, SADAM_CONTROLS)
SADAM_FAMILY(OptimizerKind, SADAM_OPTIMIZERS)
SADAM_FAMILY(Precision, SADAM_PRECISIONS)

/// Whether its rates depend on how long the run is, so that a longer run would have had others from the
/// start.
constexpr bool spans_the_run(Schedule schedule) {
  switch (schedule) {
    case Schedule::cosine:
      return true;
    case Schedule::constant:
    case Schedule::step:
    case Schedule::inverse_power:
      return false;
  }
  return false;  // no schedule at all
}

// ---- the tables of a recipe -------------------------------------------------------------------------------

struct ModelRecipe {
  std::string name = "qatnet";  ///< qatnet or resnet18
  std::int64_t bits = 2;        ///< qatnet: width of weights and activations, 2 to 8
  double dropout = 0.25;        ///< qatnet
  std::string weights;          ///< a safetensors or .pth file to start from; "" for random weights

  bool operator==(const ModelRecipe&) const = default;
};

struct DataRecipe {
  std::string name = "synthetic10";    ///< see data/catalogue.h
  std::string root = "data";           ///< the folder that holds the data sets
  std::int64_t pixels = 0;             ///< images are resized to this; 0: as the data set has them
  std::int64_t train_images = 0;       ///< use only so many, drawn evenly from the classes; 0: all
  std::int64_t test_images = 0;        ///< the same for the test set
  std::int64_t validation_images = 0;  ///< held out of the training images, likewise; 0: none

  bool operator==(const DataRecipe&) const = default;
};

struct TrainRecipe {
  std::int64_t epochs = 10;
  std::int64_t batch = 128;
  std::int64_t accumulate = 1;    ///< batches that make up one step
  std::int64_t probe_images = 0;  ///< of a batch, for the probes; 0: all of them
  double clip = 0;                ///< longest gradient, after probing; 0: no clipping
  std::int64_t processes = 1;     ///< that train together
  std::string split = "batch";    ///< what they share out: batch or probes
  std::int64_t threads = 0;       ///< of each process; 0: as many as the machine has cores for it
  std::int64_t checkpoint_every =
      0;  ///< steps between checkpoints; 0: one a minute. The end of an epoch always has one
  std::int64_t evaluate_batch = 500;  ///< images evaluated at a time
  std::string device = "cpu";         ///< cpu, cuda or cuda:N
  std::string precision = "float32";  ///< float32, tf32 or bf16; probes are in float32 all the same
  bool deterministic = false;         ///< on a GPU: the same bits on every run, at some cost in speed

  bool operator==(const TrainRecipe&) const = default;
};

/// How the learning rate goes from step to step.
struct ScheduleRecipe {
  std::string name = "constant";  ///< constant, cosine, step or inverse_power
  std::int64_t warmup = 0;        ///< steps over which it rises linearly from 0
  double floor = 0;               ///< cosine: what it ends at, as a fraction of the learning rate
  std::int64_t every = 1;         ///< step: epochs between drops
  double factor = 0.1;            ///< step: what a drop multiplies it by
  double power = 0.5;             ///< inverse_power: (1 + t)^(−power), t steps after the warm-up

  bool operator==(const ScheduleRecipe&) const = default;
};

/// How a recipe holds an option of the library: choices by their names, everything else as it is.
template <class T>
using InRecipe = std::conditional_t<std::is_enum_v<T>, std::string, T>;
template <class T>
InRecipe<T> in_recipe(T value) {
  if constexpr (std::is_enum_v<T>)
    return name_of(value);
  else
    return value;
}

/// The options of <sadam/option_list.h>, by the same names and with the same defaults. A preset fills in
/// every field first, and fields given beside it win.
struct OptimizerRecipe {
  std::string name = "sadam";      ///< sadam, adamw or prox_sgd
  std::string preset = "default";  ///< sadam: default, paper or reference
#define SADAM_RECIPE_FIELD(type, name, usual, ...) InRecipe<type> name = in_recipe<type>(usual);
  SADAM_LEARNING_RATE(SADAM_RECIPE_FIELD, kAdamLearningRate)
  SADAM_ADAM_OPTIONS(SADAM_RECIPE_FIELD)
  SADAM_BRAKE_OPTIONS(SADAM_RECIPE_FIELD)
  SADAM_PROBE_OPTIONS(SADAM_RECIPE_FIELD)
  SADAM_GRADIENT_OPTIONS(SADAM_RECIPE_FIELD)
  SADAM_BOUND_OPTIONS(SADAM_RECIPE_FIELD)
  SADAM_PROX_OPTIONS(SADAM_RECIPE_FIELD)
#undef SADAM_RECIPE_FIELD

  bool operator==(const OptimizerRecipe&) const = default;
};

/// The average of the weights (<sadam/averaged_weights.h>): what is evaluated and exported where there is
/// one.
struct AverageRecipe {
  double decay = 0;       ///< 1: the equal average; 0: there is none
  std::int64_t from = 1;  ///< the first epoch whose steps it takes in

  bool operator==(const AverageRecipe&) const = default;
};

/// What is measured along the way; decides nothing about how the run goes.
struct WatchRecipe {
  std::int64_t chatter =
      0;  ///< steps in a window over which chattering is measured (train/chatter.h); 0: never
  std::int64_t regimes =
      0;  ///< steps in a block, by which changes of ρ are noticed (train/regimes.h); 0: never

  bool operator==(const WatchRecipe&) const = default;
};

/// AdamW with the brakes of another run: what is left of S-Adam's effect when the brake no longer answers to
/// the loss.
struct ControlRecipe {
  std::string kind = "none";  ///< none; constant: `brake` on every step; matched: the mean brake of `run`;
                              ///< shuffled, replayed: the brakes of `run`, in random order or step by step
  std::string run;            ///< the folder of the S-Adam run
  double brake = 1;           ///< constant, and matched once it is known

  bool operator==(const ControlRecipe&) const = default;
};

struct Recipe {
  std::string title;  ///< for people; decides nothing
  std::int64_t seed = 42;
  ModelRecipe model;
  DataRecipe data;
  TrainRecipe train;
  WatchRecipe watch;
  ScheduleRecipe schedule;
  AverageRecipe average;
  OptimizerRecipe optimizer;
  ControlRecipe control;

  bool operator==(const Recipe&) const = default;
};

inline nn::Model model_of(const Recipe& recipe) {
  return value_named<nn::Model>(recipe.model.name, "model.name");
}
inline Control control_of(const Recipe& recipe) {
  return value_named<Control>(recipe.control.kind, "control.kind");
}
/// Whether it needs control.run.
inline bool has_brakes_of_a_run(Control control) {
  return control == Control::matched || control == Control::shuffled || control == Control::replayed;
}
inline OptimizerKind optimizer_of(const Recipe& recipe) {
  return value_named<OptimizerKind>(recipe.optimizer.name, "optimizer.name");
}
inline Split split_of(const Recipe& recipe) { return value_named<Split>(recipe.train.split, "train.split"); }
inline Precision precision_of(const Recipe& recipe) {
  return value_named<Precision>(recipe.train.precision, "train.precision");
}

}  // namespace sadam::train
