#include "train/precision.h"

#include <ATen/autocast_mode.h>
#include <sadam/error.h>

namespace sadam::train {

Precision precision_named(const std::string& name) {
  if (name == "float32") return Precision::float32;
  if (name == "tf32") return Precision::tf32;
  if (name == "bf16") return Precision::bf16;
  throw Error("there is no precision '" + name + "': use float32, tf32 or bf16.");
}

TrainingPrecision::TrainingPrecision(Precision precision, bool cuda) {
  probe::use_full_precision();
  if (precision == Precision::tf32 && cuda) probe::use_tf32();
  if (precision == Precision::bf16) probe::use_autocast(cuda, at::kBFloat16);
  at::autocast::increment_nesting();
}

TrainingPrecision::~TrainingPrecision() {
  before_.restore();
  // Weights that were cast are kept for the outermost scope's life: the next step has other weights.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

}  // namespace sadam::train
