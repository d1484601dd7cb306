#include "train/determinism.h"

#include <ATen/Context.h>
#include <torch/version.h>

#include <cstdlib>

namespace sadam::train {
namespace {

// Since torch 2.2 deterministic algorithms also fill all new memory with NaN, a pass over every tensor, for
// programs that read what they have not written. Ours do not.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
bool fills_new_memory() { return at::globalContext().deterministicFillUninitializedMemory(); }
void fill_new_memory(bool fill) { at::globalContext().setDeterministicFillUninitializedMemory(fill); }
#else
bool fills_new_memory() { return false; }
void fill_new_memory(bool) {}
#endif

}  // namespace

Deterministic::Deterministic()
    : algorithms_(at::globalContext().deterministicAlgorithms()),
      warn_only_(at::globalContext().deterministicAlgorithmsWarnOnly()),
      cudnn_(at::globalContext().deterministicCuDNN()),
      benchmark_(at::globalContext().benchmarkCuDNN()),
      fill_(fills_new_memory()) {
  constexpr int keep_the_users = 0;
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", keep_the_users);
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  fill_new_memory(false);
}

Deterministic::~Deterministic() {
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(algorithms_, warn_only_);
  context.setDeterministicCuDNN(cudnn_);
  context.setBenchmarkCuDNN(benchmark_);
  fill_new_memory(fill_);
}

}  // namespace sadam::train
