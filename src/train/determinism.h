// Runs on a GPU that can be repeated bit for bit.
#pragma once

namespace sadam::train {

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
  bool algorithms_;
  bool warn_only_;
  bool cudnn_;
  bool benchmark_;
  bool fill_ = false;
};

}  // namespace sadam::train
