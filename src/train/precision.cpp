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

TrainingPrecision::TrainingPrecision(Precision precision, bool cuda)
    : cached_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::clear_cache();
  at::autocast::set_autocast_cache_enabled(false);
  step::use_full_precision();
  if (precision == Precision::tf32 && cuda) step::use_tf32();
  if (precision == Precision::bf16) step::use_autocast(cuda, at::kBFloat16);
}

TrainingPrecision::~TrainingPrecision() {
  before_.restore();
  at::autocast::set_autocast_cache_enabled(cached_);
}

}  // namespace sadam::train
