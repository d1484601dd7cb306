// What training steps are computed in. Probes inside them are in float32 all the same (step/precision.h).
#pragma once

#include <string>

#include "step/precision.h"

namespace sadam::train {

enum class Precision {
  float32,  ///< nothing less: torch's own default lets cuDNN use TF32
  tf32,     ///< TF32 in matrix products and convolutions on CUDA devices; on the CPU this is float32
  bf16      ///< autocasting to bfloat16; what it leaves alone is float32
};

/// "float32", "tf32" or "bf16"; throws an Error that lists them for anything else.
Precision precision_named(const std::string& name);

/// While it lives, torch computes in the given precision; then as before. To be put around a step, or around
/// its capture: which arithmetic a captured kernel uses is decided when it is captured. A whole run may lie
/// inside: torch's cache of weights that were cast, which does not notice that weights change, is off.
class TrainingPrecision {
 public:
  /// `cuda`: training is on a CUDA device.
  TrainingPrecision(Precision precision, bool cuda);
  ~TrainingPrecision();
  TrainingPrecision(const TrainingPrecision&) = delete;
  TrainingPrecision& operator=(const TrainingPrecision&) = delete;

 private:
  step::PrecisionState before_;
  bool cached_;
};

}  // namespace sadam::train
