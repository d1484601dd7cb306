// Steps on a GPU: their kernels are enqueued on the current stream and not waited for.
#pragma once

#include <ATen/cuda/CUDAGeneratorImpl.h>

#include <vector>

#include "step/backend.h"

namespace sadam::step::cuda {

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(at::Device device) : device_(device) {}

  const kernels::Kernels& kernels() const override { return kernels::cuda_kernels(); }
  kernels::Place place() const override;
  bool knows_skip(const kernels::StepState&, bool, bool) const override { return false; }
  std::vector<GeneratorAccess> generators() const override;
  void backward(const at::Tensor& loss, const Items& items) const override;
  double seconds_since(std::chrono::steady_clock::time_point) const override { return 0; }

  /// While it lives, steps are prepared for a graph: gradients are those of the optimizer's parameters alone
  /// (others would be written to memory that the graph does not own), and, once there is a generator of the
  /// graph's own, evaluations draw from that.
  class ForGraph {
   public:
    explicit ForGraph(CudaBackend& backend, at::CUDAGeneratorState* recorded = nullptr) : backend_(backend) {
      backend_.for_graph_ = true;
      backend_.recorded_ = recorded;
    }
    ~ForGraph() {
      backend_.for_graph_ = false;
      backend_.recorded_ = nullptr;
    }
    ForGraph(const ForGraph&) = delete;
    ForGraph& operator=(const ForGraph&) = delete;

   private:
    CudaBackend& backend_;
  };

 private:
  at::Device device_;
  bool for_graph_ = false;
  at::CUDAGeneratorState* recorded_ = nullptr;
};

}  // namespace sadam::step::cuda
