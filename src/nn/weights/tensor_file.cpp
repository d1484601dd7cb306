#include "nn/weights/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "base/file.h"
#include "nn/weights/bytes.h"

namespace sadam::weights {
namespace {

struct DTypeRow {
  DType dtype;
  std::size_t size;
  std::string_view name;
  std::string_view safetensors;
  std::string_view storage_class;
};

// In the order of the enumeration.
constexpr std::array<DTypeRow, 10> kDTypes{{
    {DType::float16, 2, "float16", "F16", "torch.HalfStorage"},
    {DType::bfloat16, 2, "bfloat16", "BF16", "torch.BFloat16Storage"},
    {DType::float32, 4, "float32", "F32", "torch.FloatStorage"},
    {DType::float64, 8, "float64", "F64", "torch.DoubleStorage"},
    {DType::uint8, 1, "uint8", "U8", "torch.ByteStorage"},
    {DType::int8, 1, "int8", "I8", "torch.CharStorage"},
    {DType::int16, 2, "int16", "I16", "torch.ShortStorage"},
    {DType::int32, 4, "int32", "I32", "torch.IntStorage"},
    {DType::int64, 8, "int64", "I64", "torch.LongStorage"},
    {DType::boolean, 1, "bool", "BOOL", "torch.BoolStorage"},
}};

const DTypeRow& row(DType dtype) { return kDTypes.at(static_cast<std::size_t>(dtype)); }

std::optional<DType> find_dtype(std::string_view DTypeRow::*column, std::string_view text) {
  for (const auto& candidate : kDTypes) {
    if (candidate.*column == text) return candidate.dtype;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }
std::size_t size(DType dtype) { return row(dtype).size; }
std::string_view safetensors_name(DType dtype) { return row(dtype).safetensors; }
std::optional<DType> from_safetensors_name(std::string_view text) {
  return find_dtype(&DTypeRow::safetensors, text);
}
std::optional<DType> from_storage_class(std::string_view text) {
  return find_dtype(&DTypeRow::storage_class, text);
}

std::optional<std::size_t> byte_count(std::span<const std::int64_t> shape, DType dtype) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; }))
    return std::nullopt;
  // A zero anywhere makes the product zero, also where the other sizes alone would overflow.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::size_t bytes = size(dtype);
  for (const auto size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) return std::nullopt;
  return bytes;
}

TensorFile read_weights(Bytes file) {
  constexpr std::size_t kLengthSize = 8;  // of a safetensors header
  if (file.empty()) throw Error("the file is empty");
  if (looks_like_pth(file)) return read_pth(file);
  if (file.size() > kLengthSize && file[kLengthSize] == std::byte{'{'}) return read_safetensors(file);
  throw Error("the file is neither safetensors nor a .pth file of torch.save");
}

TensorFile read_weights(const std::filesystem::path& path) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(base::read_file(path));
  try {
    auto file = read_weights(Bytes(*bytes));
    file.owned.push_back(bytes);
    return file;
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace sadam::weights
