// Probes compare nearly equal losses: they are evaluated in full precision whatever the training runs in.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <optional>

namespace sadam::step {

/// How float32 arithmetic is carried out now (TF32 and bfloat16 inside matrix products and convolutions,
/// autocasting on this thread), as far as it can be seen without touching torch's settings, which belong to
/// the whole process.
class Precision {
 public:
  Precision();

  /// Whether something in it makes float32 less precise on the CPU, or on CUDA devices. (cuDNN's TF32, which
  /// torch starts with, matters to the latter alone.)
  bool is_reduced(bool cuda) const { return cuda ? reduced_on_cuda_ : reduced_on_cpu_; }

  bool operator==(const Precision&) const = default;

 private:
  struct Autocast {
    bool enabled;
    c10::ScalarType type;
    bool operator==(const Autocast&) const = default;
  };
  Autocast autocast_cpu_;
  Autocast autocast_cuda_;
  bool reduced_on_cpu_ = false;
  bool reduced_on_cuda_ = false;
  std::array<int, 9> modes_{};  // what each of torch's settings comes to
};

/// Whether torch autocasts on this thread, on any device. Cheap.
bool autocasts_now();

/// All of torch's settings of precision, as they stood when this was made. Reading them all means to touch
/// some of them.
class PrecisionState {
 public:
  PrecisionState();

  /// Puts all of it back, whichever of torch's interfaces it had been set by.
  void restore() const;

 private:
  struct Autocast {
    bool enabled;
    c10::ScalarType type;
  };
  Autocast autocast_cpu_;
  Autocast autocast_cuda_;
  int matmul_ = 0;              // at::Float32MatmulPrecision
  bool tf32_in_cudnn_ = false;  // the flag of that name
  std::array<int, 9> modes_{};  // at::Float32Precision of each of torch's settings, from torch 2.11 on
};

/// Switches everything reduced off, for all devices. For scopes that keep a PrecisionState.
void use_full_precision();

/// Lets matrix products and convolutions on CUDA devices use TF32.
void use_tf32();

/// Autocasts to `type` on this thread, on the CPU or on CUDA devices.
void use_autocast(bool cuda, c10::ScalarType type);

/// While it lives, autocasting and reduced-precision arithmetic are off; then they are as they were. Where
/// nothing is reduced, nothing is touched.
class FullPrecision {
 public:
  /// `cuda`: the parameters are on a CUDA device.
  explicit FullPrecision(bool cuda = false) {
    if (!Precision().is_reduced(cuda)) return;
    before_.emplace();
    use_full_precision();
  }
  ~FullPrecision() {
    if (before_) before_->restore();
  }
  FullPrecision(const FullPrecision&) = delete;
  FullPrecision& operator=(const FullPrecision&) = delete;

  /// Whether something that matters where the parameters are had to be switched off: then f(w) must be
  /// evaluated again, in full precision.
  bool was_reduced() const { return before_.has_value(); }

 private:
  std::optional<PrecisionState> before_;
};

}  // namespace sadam::step
