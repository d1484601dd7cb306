#include "nn/weights/convert.h"

#include <bit>
#include <cstring>
#include <string>

#include "nn/weights/bytes.h"

namespace sadam::weights {
namespace {

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
      throw Error("the tensor " + in_quotes(tensor.name) + " holds " + std::string(name(tensor.dtype)) +
                  ", which is not a floating-point type");
  }
}

}  // namespace sadam::weights
