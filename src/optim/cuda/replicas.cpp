#include "replicas.h"

#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty_like.h>
#include <sadam/error.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sadam::optim::cuda {
namespace {

using Impl = const c10::TensorImpl*;

std::unordered_set<Impl> impls_of(const std::vector<at::Tensor>& tensors) {
  std::unordered_set<Impl> impls;
  for (const auto& tensor : tensors) impls.insert(tensor.unsafeGetTensorImpl());
  return impls;
}

// Each once, the module's own first.
std::vector<at::Tensor> all_buffers(const torch::nn::Module& module,
                                    const std::vector<at::Tensor>& protected_buffers) {
  std::vector<at::Tensor> buffers;
  std::unordered_set<Impl> known;
  const auto add = [&](const at::Tensor& buffer) {
    if (buffer.defined() && known.insert(buffer.unsafeGetTensorImpl()).second) buffers.push_back(buffer);
  };
  for (const auto& buffer : module.buffers()) add(buffer);
  for (const auto& buffer : protected_buffers) add(buffer);
  return buffers;
}

void check_copy(const at::Tensor& copy, const at::Tensor& own, const std::string& what) {
  if (copy.is_alias_of(own)) throw Error("its copy has the same " + what);
  if (copy.sizes() != own.sizes() || copy.scalar_type() != own.scalar_type() || copy.device() != own.device())
    throw Error("its copy has " + what + " of another kind");
}

}  // namespace

Buffers::Buffers(const torch::nn::Module& module, const std::vector<at::Tensor>& protected_buffers) {
  own = all_buffers(module, protected_buffers);
  for (const auto& buffer : own) {
    live.push_back(buffer.variable_data());
    before.push_back(at::empty_like(live.back()));
  }
}

bool Buffers::fits(const torch::nn::Module& module, const std::vector<at::Tensor>& protected_buffers) const {
  const auto now = all_buffers(module, protected_buffers);
  return std::equal(
      now.begin(), now.end(), live.begin(), live.end(), [](const at::Tensor& a, const at::Tensor& b) {
        return a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type();
      });
}

TensorPairs Buffers::to_from(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
  TensorPairs pairs;
  for (std::size_t i = 0; i < to.size(); ++i) pairs.emplace_back(to[i], from[i]);
  return pairs;
}

std::int64_t replica_bytes(const torch::nn::Module& module) {
  std::int64_t bytes = 0;
  for (const auto& parameter : module.parameters()) bytes += static_cast<std::int64_t>(parameter.nbytes());
  for (const auto& buffer : module.buffers()) bytes += static_cast<std::int64_t>(buffer.nbytes());
  return bytes;
}

bool can_be_replicated(const torch::nn::Module& module, const Items& items, const Buffers& buffers) {
  const auto parameters = impls_of(module.parameters());
  const bool own_items = std::all_of(items.begin(), items.end(), [&](const Item& item) {
    return parameters.count(item.parameter.unsafeGetTensorImpl()) > 0;
  });
  return own_items && impls_of(module.buffers()).size() == buffers.live.size();
}

Replica make_replica(const torch::nn::Module& module, const Items& items, const Buffers& buffers,
                     const c10::cuda::CUDAStream& stream) {
  const at::NoGradGuard no_grad;
  Replica replica{module.clone(), {}, {}, {}, {}, stream};

  std::unordered_map<Impl, std::size_t> item_of;
  for (std::size_t i = 0; i < items.size(); ++i) item_of[items[i].parameter.unsafeGetTensorImpl()] = i;
  replica.weights.resize(items.size());
  const auto copies = replica.module->named_parameters();
  for (const auto& entry : module.named_parameters()) {
    const auto copy = copies[entry.key()];
    check_copy(copy, entry.value(), "weights");
    copy.set_requires_grad(entry.value().requires_grad());  // a loss may ask for it
    const auto found = item_of.find(entry.value().unsafeGetTensorImpl());
    if (found != item_of.end())
      replica.weights[found->second].push_back(copy);
    else
      replica.frozen.emplace_back(copy.variable_data(), entry.value().variable_data());
  }

  // module.buffers() comes first in `buffers`, in the order of the names, each once.
  std::unordered_map<Impl, std::size_t> buffer_of;
  const auto buffer_copies = replica.module->named_buffers();
  for (const auto& entry : module.named_buffers()) {
    const auto next = buffer_of.size();
    const auto i = buffer_of.emplace(entry.value().unsafeGetTensorImpl(), next).first->second;
    const auto copy = buffer_copies[entry.key()].variable_data();
    check_copy(copy, entry.value(), "buffers");
    replica.buffers.emplace_back(copy, buffers.before[i]);
    replica.live_buffers.emplace_back(copy, buffers.live[i]);
  }
  return replica;
}

void join(const c10::cuda::CUDAStream& waiting, const c10::cuda::CUDAStream& waited_for) {
  at::cuda::CUDAEvent event;
  event.record(waited_for);
  event.block(waiting);
}

}  // namespace sadam::optim::cuda
