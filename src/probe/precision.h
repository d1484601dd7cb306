// Probes compare nearly equal losses: they are evaluated in full precision whatever the training runs in.
#pragma once

#include <string>

namespace sadam::probe {

/// While it lives, autocasting and reduced-precision matrix products are off; then they are as they were.
class FullPrecision {
 public:
  FullPrecision();
  ~FullPrecision();
  FullPrecision(const FullPrecision&) = delete;
  FullPrecision& operator=(const FullPrecision&) = delete;

  /// Whether something had to be switched off: then f(w) must be evaluated again, in full precision.
  bool was_reduced() const { return autocast_ || reduced_matmul_; }

 private:
  bool autocast_;
  bool reduced_matmul_;
  const char* matmul_precision_;  // torch's name of the one to return to
};

}  // namespace sadam::probe
