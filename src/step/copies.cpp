#include "step/copies.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>

namespace sadam::step {
namespace {

bool is_like(const at::Tensor& copy, const at::Tensor& tensor) {
  return copy.defined() && copy.layout() == tensor.layout() && copy.scalar_type() == tensor.scalar_type() &&
         copy.device() == tensor.device() && copy.sizes() == tensor.sizes() &&
         (tensor.layout() != at::kStrided || copy.strides() == tensor.strides());
}

// Bytes [begin, end) of a block of memory, from a boundary on that every kernel finds aligned.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

constexpr std::int64_t kAlignment = 512;

Span span_of(const at::Tensor& tensor) {
  std::int64_t last = 0;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  const auto size = static_cast<std::int64_t>(tensor.element_size());
  const auto begin = tensor.storage_offset() * size;
  return {begin / kAlignment * kAlignment, tensor.numel() == 0 ? begin : begin + (last + 1) * size};
}

using Spans = std::map<const void*, Span>;  // by the storage that they are in

Spans spans_of(const std::vector<at::Tensor>& tensors) {
  Spans spans;
  for (const auto& tensor : tensors) {
    if (tensor.layout() != at::kStrided) continue;
    const auto mine = span_of(tensor);
    const auto [found, is_new] = spans.emplace(tensor.storage().unsafeGetStorageImpl(), mine);
    if (is_new) continue;
    found->second.begin = std::min(found->second.begin, mine.begin);
    found->second.end = std::max(found->second.end, mine.end);
  }
  return spans;
}

}  // namespace

std::int64_t Copies::bytes_for(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const auto& [storage, span] : spans_of(tensors)) bytes += span.end - span.begin;
  return bytes;
}

void Copies::fit(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  if (std::equal(copies_.begin(), copies_.end(), tensors.begin(), tensors.end(), is_like)) return;
  copies_.clear();  // before others are made
  const auto spans = spans_of(tensors);
  std::map<const void*, at::Tensor> memory;
  for (const auto& tensor : tensors) {
    if (tensor.layout() != at::kStrided) {
      copies_.push_back(tensor.detach().clone());
      continue;
    }
    const auto* const storage = tensor.storage().unsafeGetStorageImpl();
    const auto& span = spans.at(storage);
    auto& block = memory[storage];
    if (!block.defined())
      block = at::empty({span.end - span.begin}, tensor.options().dtype(at::kByte).requires_grad(false));
    const auto offset =
        tensor.storage_offset() - span.begin / static_cast<std::int64_t>(tensor.element_size());
    copies_.push_back(at::empty({0}, tensor.options().requires_grad(false))
                          .set_(block.storage(), offset, tensor.sizes(), tensor.strides()));
  }
}

void Swap::point(const at::Tensor& tensor, const at::Tensor& to) {
  auto* const impl = tensor.unsafeGetTensorImpl();
  pointed_.push_back({tensor, tensor.variable_data(), impl->version_counter()});
  tensor.set_data(to);
  static std::atomic<std::uint32_t> unused{1U << 30};  // whoever remembers a version has not seen it
  impl->set_version_counter(c10::VariableVersion(unused++));
}

Swap::~Swap() {
  for (auto pointed = pointed_.rbegin(); pointed != pointed_.rend(); ++pointed) {
    try {
      pointed->tensor.set_data(pointed->original);
      pointed->tensor.unsafeGetTensorImpl()->set_version_counter(pointed->version);
    } catch (const std::exception& error) {  // a destructor may not throw
      TORCH_WARN("sadam: a tensor could not be put back after a probe: ", error.what());
    }
  }
}

}  // namespace sadam::step
