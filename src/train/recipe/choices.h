// What a recipe chooses by name, each choice with all its forms. Recipes hold the names; whoever follows one
// turns it into its enum with `value_named` and switches over all of them.
#pragma once

#include "nn/model.h"
#include "step/option_names.h"

namespace sadam::train {

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
  VALUE(shuffled, "AdamW with the brakes of another run in random order")

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

}  // namespace sadam::train
