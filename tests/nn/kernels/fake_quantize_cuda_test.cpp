#include <cmath>
#include <limits>

#include "kernels/cuda/device_array.h"
#include "nn/kernels/kernels.h"

namespace sadam::kernels::cuda {
namespace {

template <class T>
std::vector<T> awkward_values(std::int64_t count) {
  auto values = random_values<T>(count, static_cast<unsigned>(count));
  for (std::size_t i = 0; i < values.size(); i += 50) values[i] = i % 100 == 0 ? T{0} : -T{0};
  return values;
}

template <class T>
T maximum_on_gpu(const std::vector<T>& values, std::size_t offset = 0) {
  const DeviceArray<T> in(values, offset);
  const DeviceArray<T> out({T{-5}});
  AbsoluteMaximum<T> launch;
  launch.data = in.data();
  launch.count = static_cast<std::int64_t>(values.size());
  launch.out = out.data();
  absolute_maximum(launch);
  return out.value();
}

template <class T>
T maximum_on_cpu(const std::vector<T>& values) {
  return kernels::absolute_maximum<T>({values.data(), static_cast<std::int64_t>(values.size()), 1});
}

template <class T>
void expect_the_cpus_bits(int bits, std::int64_t count, std::size_t offset) {
  const auto values = awkward_values<T>(count);
  const T maximum = maximum_on_cpu(values);
  EXPECT_EQ(maximum_on_gpu(values, offset), maximum) << count;

  std::vector<T> want(values.size());
  kernels::FakeQuantize<T> twin;
  twin.out = want.data();
  twin.in = values.data();
  twin.count = count;
  twin.maximum = maximum;
  twin.levels = quantization_levels(bits);
  kernels::fake_quantize(twin);

  const DeviceArray<T> in(values, offset), out(std::vector<T>(values.size(), T{9})), at_maximum({maximum});
  FakeQuantize<T> launch;
  launch.out = out.data();
  launch.in = in.data();
  launch.count = count;
  launch.maximum = at_maximum.data();
  launch.levels = twin.levels;
  fake_quantize(launch);
  EXPECT_TRUE(same_bits(out.values(), want)) << bits << " bits, " << count << " elements";
  EXPECT_TRUE(same_bits(in.values(), values));
  launch.out = in.data();
  fake_quantize(launch);
  EXPECT_TRUE(same_bits(in.values(), want)) << "in place";
}

TEST(CudaFakeQuantize, IsTheCpusBitForBit) {
  for (const auto count : odd_sizes()) {
    for (const int bits : {2, 3, 4, 8}) {
      expect_the_cpus_bits<float>(bits, count, static_cast<std::size_t>(bits) % 2);
      expect_the_cpus_bits<double>(bits, count, static_cast<std::size_t>(bits) % 2);
    }
  }
}

TEST(CudaFakeQuantize, KeepsNansAndInfinities) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const DeviceArray<float> x({nan, 1.0f, infinity}), maximum({1.0f});
  FakeQuantize<float> launch;
  launch.out = x.data();
  launch.in = x.data();
  launch.count = 3;
  launch.maximum = maximum.data();
  launch.levels = quantization_levels(4);
  fake_quantize(launch);
  const auto got = x.values();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], got[2]) << "infinity is clamped to the highest level";
}

TEST(CudaAbsoluteMaximum, SeesEveryElement) {
  for (const std::int64_t place : {0, 1, 4095, 4096, 77777, 100002}) {
    auto values = random_values<float>(100003, 1);
    values[static_cast<std::size_t>(place)] = -50;
    EXPECT_EQ(maximum_on_gpu(values), 50) << place;
    values[static_cast<std::size_t>(place)] = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(maximum_on_gpu(values), std::numeric_limits<float>::infinity()) << place;
    values[static_cast<std::size_t>(place)] = std::nanf("");
    values[5] = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(std::isnan(maximum_on_gpu(values))) << place;
  }
  // More than the grid has chunks at once.
  std::vector<float> many(5000000, 1.0f);
  many.back() = -3;
  EXPECT_EQ(maximum_on_gpu(many), 3);
}

TEST(CudaAbsoluteMaximum, OfNothingIsZero) {
  EXPECT_EQ(maximum_on_gpu<float>({}), 0);
  EXPECT_EQ(maximum_on_gpu<double>({}), 0);
}

}  // namespace
}  // namespace sadam::kernels::cuda
