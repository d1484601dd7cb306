// Stands in for cuda/ where there is no CUDA.
#include <sadam/error.h>

#include "step/backend.h"
#include "step/graph.h"

namespace sadam::step {
namespace {

[[noreturn]] void refuse() {
  throw Error(
      "this build of sadam has kernels for the CPU only: build it with nvcc and a libtorch for CUDA.");
}

}  // namespace

bool built_with_cuda() { return false; }
std::shared_ptr<Backend> make_cuda_backend(at::Device) { refuse(); }
std::unique_ptr<Graphs> make_graphs(GraphSettings) { refuse(); }

}  // namespace sadam::step
