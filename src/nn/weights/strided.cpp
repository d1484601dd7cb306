#include "nn/weights/strided.h"

#include <cstring>
#include <optional>

#include "nn/weights/bytes.h"
#include "nn/weights/tensor_file.h"

namespace sadam::weights {
namespace {

/// One more than the index of the last element; nothing if that does not fit. The view is not empty.
std::optional<std::uint64_t> end_of(const PickledTensor& view) {
  auto last = static_cast<std::uint64_t>(view.offset);
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(view.shape[i] - 1),
                               static_cast<std::uint64_t>(view.strides[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  if (__builtin_add_overflow(last, 1U, &last)) return std::nullopt;
  return last;
}

/// The product of the shape is known to fit.
bool is_contiguous(const PickledTensor& view) {
  std::int64_t expected = 1;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

/// Walks the view row by row. All of it is known to lie inside the storage.
std::vector<std::byte> gather(const PickledTensor& view, std::size_t element, std::size_t total,
                              Bytes storage) {
  std::vector<std::byte> result(total);
  std::vector<std::int64_t> index(view.shape.size());
  std::int64_t position = view.offset;
  for (std::size_t to = 0; to < total; to += element) {
    std::memcpy(result.data() + to, storage.data() + static_cast<std::size_t>(position) * element, element);
    for (std::size_t i = view.shape.size(); i-- > 0;) {
      if (++index[i] < view.shape[i]) {
        position += view.strides[i];
        break;
      }
      position -= (view.shape[i] - 1) * view.strides[i];
      index[i] = 0;
    }
  }
  return result;
}

}  // namespace

Bytes ViewReader::read(std::string_view name, const PickledTensor& view, DType dtype, Bytes storage) {
  const auto total = byte_count(view.shape, dtype);
  if (!total) throw Error("the tensor " + in_quotes(name) + " has an impossible shape");
  if (*total == 0) return {};
  const auto element = size(dtype);
  const auto end = end_of(view);
  if (!end || *end > storage.size() / element) {
    throw Error("the tensor " + in_quotes(name) + " reaches past the end of its storage");
  }
  if (is_contiguous(view)) return storage.subspan(static_cast<std::size_t>(view.offset) * element, *total);
  if (*total > storage.size()) {
    throw Error("the tensor " + in_quotes(name) +
                " repeats elements of its storage (save a contiguous copy of it)");
  }
  if (*total > budget_) throw Error("the tensors together are larger than the file");
  budget_ -= *total;
  copies.push_back(std::make_shared<const std::vector<std::byte>>(gather(view, element, *total, storage)));
  return *copies.back();
}

}  // namespace sadam::weights
