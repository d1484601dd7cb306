// Copies of a module on which probes are evaluated beside one another.
#pragma once

#include <c10/cuda/CUDAStream.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "launches.h"

namespace sadam::optim::cuda {

using TensorPairs = std::vector<std::pair<at::Tensor, at::Tensor>>;

/// A module's buffers and their copies from before the base evaluation.
struct Buffers {
  std::vector<at::Tensor> own;     ///< the module's and all that the optimizer protects, each once
  std::vector<at::Tensor> live;    ///< their memory
  std::vector<at::Tensor> before;  ///< copies, in the same order

  Buffers(const torch::nn::Module& module, const std::vector<at::Tensor>& protected_buffers);
  /// Whether these are still the buffers, where they were: loading a model may move them.
  bool fits(const torch::nn::Module& module, const std::vector<at::Tensor>& protected_buffers) const;
  void keep() const { copy_tensors(to_from(before, live)); }
  TensorPairs back() const { return to_from(live, before); }
  static TensorPairs to_from(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from);
};

struct Replica {
  std::shared_ptr<torch::nn::Module> module;
  std::vector<std::vector<at::Tensor>> weights;  ///< of each item: a tensor for each of its names
  TensorPairs frozen;                            ///< parameters that are not trained: to, from
  TensorPairs buffers;                           ///< to, from the copies before the base evaluation
  TensorPairs live_buffers;                      ///< to, from the module's own
  c10::cuda::CUDAStream stream;
};

/// Bytes of one.
std::int64_t replica_bytes(const torch::nn::Module& module);

/// Whether the loss of the module can be evaluated on a replica: all items and protected buffers are its own.
bool can_be_replicated(const torch::nn::Module& module, const Items& items, const Buffers& buffers);

/// Throws what the module's `clone` throws if it has none.
Replica make_replica(const torch::nn::Module& module, const Items& items, const Buffers& buffers,
                     const c10::cuda::CUDAStream& stream);

/// Lets one stream wait for what has been enqueued on another.
void join(const c10::cuda::CUDAStream& waiting, const c10::cuda::CUDAStream& waited_for);

}  // namespace sadam::optim::cuda
