#include "nn/weights/dtype.h"

#include <array>

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
constexpr std::array<DTypeRow, 10> dtype_rows{{
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

const DTypeRow& row(DType dtype) { return dtype_rows.at(static_cast<std::size_t>(dtype)); }

std::optional<DType> find_dtype(std::string_view DTypeRow::*column, std::string_view text) {
  for (const auto& candidate : dtype_rows) {
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

}  // namespace sadam::weights
