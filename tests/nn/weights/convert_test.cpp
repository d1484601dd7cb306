#include "nn/weights/tensor_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "nn/weights/refusal.h"

namespace sadam::weights {
namespace {

using testing::bytes_of;
using testing::elements;
using testing::refusal;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Convert, Float16EdgeCasesAreExact) {
  EXPECT_EQ(float16_to_float32(0x0000), 0.0F);
  EXPECT_TRUE(std::signbit(float16_to_float32(0x8000)));
  EXPECT_EQ(float16_to_float32(0x8000), 0.0F);
  EXPECT_EQ(float16_to_float32(0x0001), 0x1p-24F);       // smallest subnormal
  EXPECT_EQ(float16_to_float32(0x83ff), -0x1.ff8p-15F);  // largest subnormal, negative
  EXPECT_EQ(float16_to_float32(0x0400), 0x1p-14F);       // smallest normal
  EXPECT_EQ(float16_to_float32(0x3c00), 1.0F);
  EXPECT_EQ(float16_to_float32(0x3555), 0x1.554p-2F);  // a third
  EXPECT_EQ(float16_to_float32(0x7bff), 65504.0F);     // largest
  EXPECT_EQ(float16_to_float32(0x7c00), kInfinity);
  EXPECT_EQ(float16_to_float32(0xfc00), -kInfinity);
}

TEST(Convert, ANanKeepsSignAndPayload) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(float16_to_float32(0x7e00)), 0x7fc00000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(float16_to_float32(0xfe01)), 0xffc02000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(bfloat16_to_float32(0xffc1)), 0xffc10000U);
  EXPECT_TRUE(std::isnan(float16_to_float32(0x7c01)));
}

/// Against the definition of the format, in double.
TEST(Convert, EveryFiniteFloat16HasItsValue) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto exponent = static_cast<int>((bits >> 10U) & 31U);
    if (exponent == 31) continue;
    const auto fraction = static_cast<double>(bits & 1023U) / 1024;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    ASSERT_EQ(float16_to_float32(static_cast<std::uint16_t>(bits)),
              (bits & 0x8000U) != 0 ? -magnitude : magnitude);
  }
}

TEST(Convert, Bfloat16EdgeCasesAreExact) {
  EXPECT_EQ(bfloat16_to_float32(0x3f80), 1.0F);
  EXPECT_EQ(bfloat16_to_float32(0xc060), -3.5F);
  EXPECT_EQ(bfloat16_to_float32(0x0001), 0x1p-133F);  // smallest subnormal
  EXPECT_EQ(bfloat16_to_float32(0x7f7f), 0x1.fep127F);
  EXPECT_EQ(bfloat16_to_float32(0xff80), -kInfinity);
  EXPECT_TRUE(std::isnan(bfloat16_to_float32(0x7fc0)));
}

TEST(Convert, AnyAlignmentAndEveryFloatType) {
  const auto doubles = " " + elements<double>({0.1, -1e300});  // one byte off every alignment
  const Tensor tensor{"d", DType::float64, {2}, bytes_of(doubles).subspan(1)};
  EXPECT_EQ(to_float32(tensor), (std::vector<float>{0.1F, -kInfinity}));
  const auto floats = " " + elements<float>({0.5F});
  EXPECT_EQ(to_float32({"f", DType::float32, {1}, bytes_of(floats).subspan(1)}), std::vector<float>{0.5F});
  const auto halves = " " + elements<std::uint16_t>({0x3c00, 0xc060});
  EXPECT_EQ(to_float32({"h", DType::float16, {2}, bytes_of(halves).subspan(1)}),
            (std::vector<float>{1.0F, -2.1875F}));
  EXPECT_EQ(to_float32({"b", DType::bfloat16, {2}, bytes_of(halves).subspan(1)})[1], -3.5F);
}

TEST(Convert, CountsAreNotWeights) {
  const Tensor tensor{"bn.num_batches_tracked", DType::int64, {0}, {}};
  EXPECT_EQ(refusal([&] { to_float32(tensor); }),
            "the tensor 'bn.num_batches_tracked' holds int64, which is not a floating-point type");
}

}  // namespace
}  // namespace sadam::weights
