// Where and how torch computes for a run: the device, its memory, the precision, and whether every bit
// repeats.
#pragma once

#include <c10/core/Device.h>
#include <sadam/error.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "step/out_of_memory.h"
#include "step/precision.h"
#include "train/recipe/recipe.h"

namespace sadam::train {

/// Throws a `UsageError` for anything but "cpu", "cuda" and "cuda:N", and an `Error` that says what is
/// missing where there is no such GPU, or where the program was built without CUDA.
c10::Device device_named(const std::string& name);

/// "NVIDIA H200".
std::string device_model(const c10::Device& device);

/// A line for each GPU, or one that says why there is none.
std::vector<std::string> gpu_lines();

/// The most bytes that tensors have taken on a GPU at a time since this was made, beyond those they took
/// then: an earlier run of the process leaves some behind, such as the workspaces of libraries. 0 without
/// CUDA.
class DeviceMemory {
 public:
  explicit DeviceMemory(const c10::Device& device);
  std::int64_t peak() const;

 private:
  c10::Device device_;
  std::int64_t before_ = 0;
};

/// Begins a new measurement of this process's memory, where the system allows it.
void reset_peak_memory();

/// Peak of resident memory since then (or since the process began), in bytes; 0 where the system does not
/// tell.
std::int64_t peak_memory();

/// What `work` returns. Where the memory of a GPU runs out, throws an Error that says what to do in the terms
/// of a recipe.
template <class Work>
auto within_memory(Work&& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (!step::is_out_of_memory(error)) throw;
    throw Error(
        "the GPU's memory is used up: set a smaller train.batch or train.evaluate_batch, or use --device "
        "cpu.");
  }
}

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

/// While it lives, torch computes each result in one way only, at some cost in speed: algorithms whose result
/// depends on timing are replaced, cuDNN's are not chosen by a race, and an operation that has no such
/// algorithm throws an error that names it. Then everything is as before, but for the environment.
///
/// cuBLAS is deterministic on several streams only if CUBLAS_WORKSPACE_CONFIG says so before its first use in
/// the process. Deterministic sets it (":4096:8") where it is not set, so the first one must be made before
/// anything is multiplied on a GPU: at the start of the program.
class Deterministic {
 public:
  Deterministic();
  ~Deterministic();
  Deterministic(const Deterministic&) = delete;
  Deterministic& operator=(const Deterministic&) = delete;

 private:
  struct Settings {
    bool algorithms, warn_only, cudnn, benchmark, fill;
  };
  static Settings now();
  static void set(const Settings& settings);

  Settings before_;
};

}  // namespace sadam::train
