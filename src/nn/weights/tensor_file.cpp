#include "nn/weights/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

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

template <typename Element, typename Convert>
std::vector<float> convert_each(Bytes bytes, Convert convert) {
  std::vector<float> result(bytes.size() / sizeof(Element));
  for (std::size_t i = 0; i < result.size(); ++i) {
    Element element{};
    std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
    result[i] = convert(element);
  }
  return result;
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

float float16_to_float32(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {
    // Zero or subnormal: fraction · 2⁻²⁴, exact in float32.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  // The exponent's bias is 15 here and 127 there; all ones stay all ones.
  const std::uint32_t widened = exponent == 0x1fU ? 0xffU : exponent + (127U - 15U);
  return std::bit_cast<float>(sign | (widened << 23U) | (fraction << 13U));
}

float bfloat16_to_float32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::vector<float> to_float32(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::float16:
      return convert_each<std::uint16_t>(tensor.bytes, float16_to_float32);
    case DType::bfloat16:
      return convert_each<std::uint16_t>(tensor.bytes, bfloat16_to_float32);
    case DType::float32:
      return convert_each<float>(tensor.bytes, [](float value) { return value; });
    case DType::float64:
      return convert_each<double>(tensor.bytes, [](double value) { return static_cast<float>(value); });
    default:
      throw Error(fmt::format("the tensor {} holds {}, which is not a floating-point type",
                              in_quotes(tensor.name), name(tensor.dtype)));
  }
}

}  // namespace sadam::weights
