#include "nn/layers.h"

#include <cmath>
#include <limits>

#include "support/models.h"

namespace sadam::nn {
namespace {

using namespace sadam::testing;

struct Range {
  double q, low, high;
};
Range range_of(int bits) {
  if (bits == 2) return {1.5, -2, 1};
  const double half = std::pow(2.0, bits - 1);
  return {half - 1, -half, half - 1};
}

/// s as tensor operations compute it.
torch::Tensor scale_of(const torch::Tensor& x, int bits) { return range_of(bits).q / (x.abs().max() + 1e-5); }

/// The definition in tensor operations.
torch::Tensor plain(const torch::Tensor& x, int bits) {
  const auto s = scale_of(x, bits);
  return torch::clamp(torch::round(x * s), range_of(bits).low, range_of(bits).high) / s;
}

/// The same bits; any NaN equals any other.
void expect_same_numbers(const torch::Tensor& expected, const torch::Tensor& actual) {
  ASSERT_TRUE(torch::equal(expected.isnan(), actual.isnan()));
  expect_same_bits({torch::nan_to_num(expected, 0)}, {torch::nan_to_num(actual, 0)});
}

void expect_plain(const torch::Tensor& x) {
  for (int bits = 2; bits <= 8; ++bits) {
    SCOPED_TRACE(::testing::Message() << bits << " bits, " << x.sizes() << " " << x.toString());
    const auto expected = plain(x, bits);
    const auto actual = fake_quantize(x, bits);
    expect_same_numbers(expected, actual);
    EXPECT_EQ(expected.strides(), actual.strides());
  }
}

const auto kTypes = {torch::kFloat, torch::kDouble};

TEST(FakeQuantize, IsTheTensorExpressionBitForBit) {
  for (const auto type : kTypes) {
    for (const std::int64_t count : {1, 2, 3, 15, 16, 17, 63, 64, 65, 1000, 32767, 32768, 32769, 393216}) {
      expect_plain(torch::randn({count}, type));
    }
    expect_plain(torch::randn({}, type));
    for (const double size : {1e-30, 1e-8, 1e-5, 1e-3, 1.0, 127.0, 1e3, 1e6, 1e30}) {
      expect_plain(torch::randn({2001}, type) * size);
      expect_plain(torch::rand({2001}, type) * -size);
    }
  }
}

TEST(FakeQuantize, IsTheTensorExpressionOnHardValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto type : kTypes) {
    expect_plain(torch::zeros({37}, type));
    expect_plain(-torch::zeros({37}, type));
    for (const double value : {1.0, -1.0, 0.3, 1e-7, -1e20}) expect_plain(torch::full({37}, value, type));
    for (const double bad : {infinity, -infinity, nan}) {
      auto x = torch::randn({100}, type);
      x[61] = bad;
      expect_plain(x);
      EXPECT_TRUE(fake_quantize(x, 4).isnan().all().item<bool>());
    }
    const double largest = type == torch::kFloat ? 3.4e38 : 1.7e308;
    const double smallest = type == torch::kFloat ? 1e-45 : 5e-324;
    for (const double size : {largest, smallest}) {
      expect_plain(torch::tensor({size, -size, size / 2, -size / 3, 0.0}, type));
    }
  }
}

TEST(FakeQuantize, KeepsTheMemoryFormat) {
  const auto x = torch::randn({4, 6, 10, 12});
  expect_plain(x.contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(fake_quantize(x.contiguous(torch::MemoryFormat::ChannelsLast), 2)
                  .is_contiguous(torch::MemoryFormat::ChannelsLast));
  expect_plain(x.transpose(1, 3));
  expect_plain(x.permute({3, 1, 0, 2}));
}

TEST(FakeQuantize, TakesTensorsWithGapsAndOverlaps) {
  auto x = torch::randn({20, 30});
  const auto part = x.slice(1, 3, 17, 2).slice(0, 1, 19);
  x[0][0] = 1000;  // outside the part: must not be its maximum
  expect_plain(part);
  expect_plain(part.t());
  expect_plain(torch::randn({5, 1}).expand({5, 7}));
  expect_plain(torch::_neg_view(torch::randn({40})));
}

TEST(FakeQuantize, TakesATensorWithoutElements) {
  const auto y = fake_quantize(torch::empty({0, 3}), 2);
  EXPECT_EQ(y.sizes(), torch::IntArrayRef({0, 3}));
}

TEST(FakeQuantize, LeavesItsInputAlone) {
  const auto x = torch::randn({500});
  const auto before = x.clone();
  const auto version = x._version();
  fake_quantize(x, 2);
  expect_same_bits({before}, {x});
  EXPECT_EQ(version, x._version());
}

TEST(FakeQuantize, TwoBitsLeaveMinusOneZeroAndOne) {
  for (const double size : {1e-3, 0.1, 1.0, 10.0}) {
    const auto x = torch::randn({10000}) * size;
    const auto levels = (fake_quantize(x, 2) * scale_of(x, 2)).round();
    for (const double level : {-1.0, 0.0, 1.0}) EXPECT_TRUE(levels.eq(level).any().item<bool>()) << level;
    EXPECT_EQ(1, levels.abs().max().item<double>());
  }
}

TEST(FakeQuantize, AWidthHasNoMoreThanItsLevels) {
  const auto x = torch::randn({100000});
  for (int bits = 2; bits <= 8; ++bits) {
    const auto levels = std::get<0>(torch::_unique(fake_quantize(x, bits) + 0.0)).numel();  // −0 + 0 is 0
    EXPECT_LE(levels, 1 << bits) << bits;
    EXPECT_GE(levels, bits == 2 ? 3 : (1 << bits) / 2) << bits;
  }
}

TEST(FakeQuantize, ASecondTimeLeavesEveryElementOnItsLevel) {
  // The values move (the maximum is the largest level now, and 1e-5 comes in again), the levels do not.
  for (const auto type : kTypes) {
    for (int bits = 2; bits <= 8; ++bits) {
      const auto x = torch::randn({5000}, type);
      const auto once = fake_quantize(x, bits);
      const auto twice = fake_quantize(once, bits);
      const auto levels = (once * scale_of(x, bits)).round();
      EXPECT_TRUE(torch::equal(levels, (twice * scale_of(once, bits)).round())) << bits;
      if (bits == 2) continue;  // q is not a level: the values shrink by a third
      EXPECT_TRUE(torch::allclose(once, twice, 1e-4, 0)) << bits;
    }
  }
}

TEST(FakeQuantize, TheGradientPassesUnchanged) {
  for (const auto type : kTypes) {
    for (int bits = 2; bits <= 8; ++bits) {
      const auto x = torch::randn({7, 9}, torch::TensorOptions(type).requires_grad(true));
      const auto gradient = torch::randn({7, 9}, type);
      fake_quantize(x, bits).backward(gradient);
      expect_same_bits({gradient}, {x.grad()});
    }
  }
}

TEST(FakeQuantize, TheGradientPassesWhereItWasClamped) {
  // 1.5 · 1e6/(1e6 + 1e-5) is 1.5 in float, rounds to 2 and is clamped to 1.
  const auto x = torch::full({3}, 1e6, torch::TensorOptions(torch::kFloat).requires_grad(true));
  fake_quantize(x, 2).sum().backward();
  expect_same_bits({torch::ones({3})}, {x.grad()});
}

TEST(FakeQuantize, MakesNoGraphWhereNoneIsWanted) {
  const auto x = torch::randn({5}, torch::requires_grad());
  EXPECT_FALSE(fake_quantize(x.detach(), 2).requires_grad());
  const torch::NoGradGuard guard;
  EXPECT_FALSE(fake_quantize(x, 2).requires_grad());
}

TEST(FakeQuantize, OtherTypesGoThroughTheExpression) {
  const auto x = torch::randn({300}).to(torch::kBFloat16);
  const auto y = fake_quantize(x, 4);
  EXPECT_EQ(torch::kBFloat16, y.scalar_type());
  expect_same_bits({plain(x, 4)}, {y});
}

}  // namespace
}  // namespace sadam::nn
