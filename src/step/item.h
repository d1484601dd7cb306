// A trainable parameter as a step sees it, and how its elements lie in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sadam::step {

struct Item {
  at::Tensor parameter;
  std::int64_t group = 0;      ///< index of its group
  std::int64_t index = 0;      ///< index in its group
  const void* data = nullptr;  ///< where its elements were: loading a model may move them
  std::uint64_t first = 0;     ///< global index of its first element; the order within it is the logical one

  // Its state, where it has a gradient.
  at::Tensor first_moment;   ///< m, or ProxSGD's buffer; laid out like the parameter
  at::Tensor second_moment;  ///< v
  std::int64_t t = 0;        ///< updates it has had

  const at::Tensor& gradient() const { return parameter.grad(); }
  bool is_trained() const { return gradient().defined(); }
};
using Items = std::vector<Item>;

/// Groups [first, end).
struct GroupRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool has(const Item& item) const { return item.group >= first && item.group < end; }
};

/// Elements in logical order without gaps.
inline bool is_plain(const at::Tensor& tensor) { return tensor.is_contiguous(); }

/// Elements in some order without gaps (channels_last, transposed): one block of memory.
inline bool is_block(const at::Tensor& tensor) { return tensor.is_non_overlapping_and_dense(); }

/// `tensor` laid out in memory as `pattern` is, copied only if it is not. Where `pattern` has gaps:
/// contiguous.
at::Tensor laid_out_like(const at::Tensor& tensor, const at::Tensor& pattern);

/// Makes sure that `tensor` is a moment of `parameter`: zero if it is new, laid out in memory like it
/// (contiguous where the parameter has gaps), of its type and where it is.
void ensure_moment(at::Tensor& tensor, const at::Tensor& parameter);

}  // namespace sadam::step
