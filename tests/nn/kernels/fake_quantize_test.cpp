#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/every_target.h"
#include "nn/kernels/kernels.h"

namespace sadam::kernels {
namespace {

template <class T>
T maximum_of(const T* data, std::int64_t count, int threads = 1) {
  return absolute_maximum(AbsoluteMaximum<T>{data, count, threads});
}

template <class T>
T plain_maximum(const std::vector<T>& values) {
  T maximum = 0;
  for (const T value : values) {
    if (std::isnan(value)) return value;
    maximum = std::max(maximum, std::abs(value));
  }
  return maximum;
}

/// The definition, an operation at a time.
template <class T>
std::vector<T> plain_quantized(const std::vector<T>& values, int bits) {
  const auto levels = quantization_levels(bits);
  const T sum = plain_maximum(values) + static_cast<T>(1e-5);
  const T s = static_cast<T>(levels.q) / sum;
  std::vector<T> result;
  for (const T value : values) {
    const T scaled = value * s;
    T rounded = std::nearbyint(scaled);
    if (rounded > static_cast<T>(levels.high)) rounded = static_cast<T>(levels.high);
    if (rounded < static_cast<T>(levels.low)) rounded = static_cast<T>(levels.low);
    result.push_back(rounded / s);
  }
  return result;
}

template <class T>
std::vector<T> quantized(Unaligned<T>& data, std::int64_t count, int bits, int threads = 1) {
  Unaligned<T> out(std::vector<T>(static_cast<std::size_t>(count), T{77}));
  FakeQuantize<T> launch;
  launch.out = out.data();
  launch.in = data.data();
  launch.count = count;
  launch.maximum = maximum_of(data.data(), count, threads);
  launch.levels = quantization_levels(bits);
  launch.threads = threads;
  fake_quantize(launch);
  return out.values();
}

/// The same bits; any NaN equals any other, for which one an operation gives is up to the machine.
template <class T>
void expect_same(const std::vector<T>& expected, const std::vector<T>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  // Tens of millions of elements: each is looked at only where they differ.
  if (std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(T)) == 0) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(actual[i])) << i;
    } else {
      ASSERT_EQ(expected[i], actual[i]) << i;
      ASSERT_EQ(std::signbit(expected[i]), std::signbit(actual[i])) << i;
    }
  }
}

template <class T>
void expect_as_defined(const std::vector<T>& values) {
  Unaligned<T> data(values);
  const auto count = static_cast<std::int64_t>(values.size());
  for (int bits = 2; bits <= 8; ++bits) {
    SCOPED_TRACE(testing::Message() << bits << " bits, " << count << " elements");
    const auto expected = plain_quantized(values, bits);
    for (const int threads : {1, 2}) expect_same(expected, quantized(data, count, bits, threads));
  }
}

class FakeQuantizeOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(FakeQuantizeOnEveryTarget);

template <class T>
void expect_maximum_anywhere() {
  using Limits = std::numeric_limits<T>;
  const std::int64_t count = 135;
  const auto values = random_values<T>(count, 5);
  for (const T top : {T{3}, T{-3}, Limits::max(), -Limits::infinity()}) {
    for (std::int64_t i = 0; i < count; ++i) {
      Unaligned<T> data(values);
      data.data()[i] = top;
      ASSERT_EQ(std::abs(top), maximum_of(data.data(), count)) << i;
      ASSERT_EQ(std::abs(top), maximum_of(data.data(), i + 1)) << i;
      ASSERT_LE(maximum_of(data.data(), i), T{2}) << i;
    }
  }
  for (const T bad : {Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    for (std::int64_t i = 0; i < count; ++i) {
      Unaligned<T> data(values);
      data.data()[i] = bad;
      data.data()[(i + 1) % count] = Limits::infinity();
      ASSERT_TRUE(std::isnan(maximum_of(data.data(), count))) << i;
    }
  }
}

TEST_P(FakeQuantizeOnEveryTarget, FindsTheMaximumAnywhereAndLosesNoNaN) {
  expect_maximum_anywhere<float>();
  expect_maximum_anywhere<double>();
}

TEST_P(FakeQuantizeOnEveryTarget, TheMaximumDoesNotDependOnThreads) {
  for (const auto count : awkward_sizes()) {
    const auto values = random_values<float>(count, 6);
    Unaligned<float> data(values);
    for (const int threads : {1, 2, 3}) {
      EXPECT_EQ(plain_maximum(values), maximum_of(data.data(), count, threads));
    }
  }
  auto values = random_values<double>(100003, 7);
  values[70001] = std::numeric_limits<double>::quiet_NaN();
  Unaligned<double> data(values);
  EXPECT_TRUE(std::isnan(maximum_of(data.data(), 100003, 2)));
}

TEST_P(FakeQuantizeOnEveryTarget, IsThePlainLoopAtEverySize) {
  for (const auto count : awkward_sizes()) {
    expect_as_defined(random_values<float>(count, 8));
    expect_as_defined(random_values<double>(count, 9, -1e-3, 1e-2));
  }
}

template <class T>
void expect_hard_values_as_defined() {
  using Limits = std::numeric_limits<T>;
  expect_as_defined(std::vector<T>(35, T{0}));
  expect_as_defined(std::vector<T>(35, -T{0}));
  for (const T size :
       {Limits::max(), Limits::min(), Limits::denorm_min(), static_cast<T>(1e-7), T{1}, T{1000}, T{1e9}}) {
    expect_as_defined<T>({size, -size, size / 2, -size / 2, size / 3, -size / 3, T{0}, -T{0}});
    expect_as_defined(std::vector<T>(35, -size));
  }
  expect_as_defined<T>({T{1}, Limits::infinity(), T{-2}});
  expect_as_defined<T>({T{1}, Limits::quiet_NaN(), T{-2}});
}

TEST_P(FakeQuantizeOnEveryTarget, IsThePlainLoopOnHardValues) {
  expect_hard_values_as_defined<float>();
  expect_hard_values_as_defined<double>();
}

TEST_P(FakeQuantizeOnEveryTarget, RoundsHalvesToEvenAndWhatIsBesideThemToTheNearest) {
  // 1024 + 1e-5 is 1024 in float and s is 1: elements are rounded as they are.
  FakeQuantize<float> launch;
  std::vector<float> values, out(512);
  for (float half = -9.5F; half < 10; half += 1) {
    for (const float value : {std::nextafter(half, -20.0F), half, std::nextafter(half, 20.0F)}) {
      values.push_back(value);
    }
  }
  launch.in = values.data();
  launch.out = out.data();
  launch.count = static_cast<std::int64_t>(values.size());
  launch.maximum = 1024;
  launch.levels = {1024, -128, 127};
  fake_quantize(launch);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::nearbyint(values[i]), out[i]) << values[i];
    EXPECT_EQ(std::signbit(values[i]), std::signbit(out[i])) << values[i];
  }
}

TEST_P(FakeQuantizeOnEveryTarget, WorksInPlace) {
  const auto values = random_values<float>(1003, 10);
  Unaligned<float> data(values);
  FakeQuantize<float> launch;
  launch.in = launch.out = data.data();
  launch.count = 1003;
  launch.maximum = maximum_of(data.data(), 1003);
  launch.levels = quantization_levels(4);
  fake_quantize(launch);
  expect_same(plain_quantized(values, 4), data.values());
}

TEST(QuantizationLevels, AreThoseOfTheExperiments) {
  const auto expect = [](int bits, double q, double low, double high) {
    const auto levels = quantization_levels(bits);
    EXPECT_EQ(q, levels.q) << bits;
    EXPECT_EQ(low, levels.low) << bits;
    EXPECT_EQ(high, levels.high) << bits;
  };
  expect(2, 1.5, -2, 1);
  expect(3, 3, -4, 3);
  expect(4, 7, -8, 7);
  expect(8, 127, -128, 127);
}

}  // namespace
}  // namespace sadam::kernels
