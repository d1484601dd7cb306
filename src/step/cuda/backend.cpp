#include "step/cuda/backend.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>

namespace sadam::step {

bool built_with_cuda() { return true; }

std::shared_ptr<Backend> make_cuda_backend(at::Device device) {
  return std::make_shared<cuda::CudaBackend>(device);
}

namespace cuda {

kernels::Place CudaBackend::place() const {
  return {1, at::cuda::getCurrentCUDAStream(device_.index()).stream()};
}

std::vector<GeneratorAccess> CudaBackend::generators() const {
  if (recorded_ == nullptr) return {default_generator(at::kCPU), default_generator(device_)};
  // While a graph is captured, what is drawn counts from its start.
  auto* const state = recorded_;
  return {{at::kCUDA,
           [state] {
             auto position = at::empty({1}, at::kLong);
             *position.data_ptr<std::int64_t>() = static_cast<std::int64_t>(state->offset_intragraph_);
             return position;
           },
           [state](const at::Tensor& position) {
             state->offset_intragraph_ =
                 static_cast<decltype(state->offset_intragraph_)>(*position.data_ptr<std::int64_t>());
           }}};
}

void CudaBackend::backward(const at::Tensor& loss, const Items& items) const {
  if (!for_graph_) return loss.backward();
  std::vector<at::Tensor> inputs;
  for (const auto& item : items) inputs.push_back(item.parameter);
  if (!inputs.empty()) loss.backward({}, c10::nullopt, false, inputs);
}

}  // namespace cuda
}  // namespace sadam::step
