// Stands in for cuda/ where there is no CUDA.
#include "device_work.h"
#include "graphed_step.h"

namespace sadam::optim {
namespace {

[[noreturn]] void refuse() {
  throw Error(
      "this build of sadam has kernels for the CPU only: build it with nvcc and a libtorch for CUDA.");
}

}  // namespace

bool built_with_cuda() { return false; }

std::unique_ptr<DeviceWork> make_device_work() { refuse(); }

std::unique_ptr<GraphedStep::Engine> make_graph_engine(GraphRequest) { refuse(); }

}  // namespace sadam::optim
