#include "step/backend.h"

#include <ATen/Parallel.h>
#include <sadam/error.h>

namespace sadam::step {
namespace {

class CpuBackend : public Backend {
 public:
  const kernels::Kernels& kernels() const override { return kernels::cpu_kernels(); }
  kernels::Place place() const override { return {at::get_num_threads(), nullptr}; }
  bool knows_skip(const kernels::StepState& state, bool has_loss, bool has_base) const override {
    return kernels::must_skip(state, has_loss, has_base);
  }
  std::vector<GeneratorAccess> generators() const override { return {default_generator(at::kCPU)}; }
  void backward(const at::Tensor& loss, const Items&) const override { loss.backward(); }
  double seconds_since(std::chrono::steady_clock::time_point then) const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
  }
};

}  // namespace

std::shared_ptr<Backend> make_backend(at::Device device) {
  if (!device.is_cpu()) return make_cuda_backend(device);
  static const auto cpu = std::make_shared<CpuBackend>();
  return cpu;
}

}  // namespace sadam::step
