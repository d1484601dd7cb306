// Kernels on an instruction set of one's choice.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

namespace sadam::kernels {

/// Sends every kernel to one instruction set while it lives.
class TargetScope {
 public:
  explicit TargetScope(std::int64_t target) { choose(target); }
  ~TargetScope() { choose(0); }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace sadam::kernels
