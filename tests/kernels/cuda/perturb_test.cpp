#include <limits>

#include "kernels/cuda/directions_on_host.h"

namespace sadam::kernels::cuda {
namespace {

constexpr std::int64_t kStep = 123456789012345;
const DirectionKey kPerturbed = {0x123456789abcdef0u, static_cast<std::uint64_t>(kStep), 3};

/// How many numbers of type T lie between two.
template <class T>
std::int64_t ulps_between(T a, T b) {
  using Integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const auto ordered = [](T x) {
    Integer bits;
    std::memcpy(&bits, &x, sizeof bits);
    return static_cast<std::int64_t>(bits < 0 ? std::numeric_limits<Integer>::min() - bits : bits);
  };
  return std::abs(ordered(a) - ordered(b));
}

// The same operations in the same order are bit for bit the same, as far as both follow IEEE 754; four ulps
// are granted.
template <class T>
void expect_the_scalar_loop(Distribution distribution) {
  const DeviceArray<std::int64_t> step({kStep});
  for (const auto first : firsts()) {
    for (const auto count : odd_sizes()) {
      if (count > 5000 && first != firsts().back()) continue;  // the host is slow
      const auto z = direction_on_gpu<T>({kPerturbed.seed, step.data(), 3}, distribution, first, count);
      for (std::size_t i = 0; i < z.size(); ++i) {
        const T want = element_on_host<T>(kPerturbed, distribution, first + i);
        ASSERT_LE(ulps_between(z[i], want), 4) << z[i] << " for " << want << ", element " << first + i;
      }
    }
  }
}

TEST(CudaPerturb, MakesNormalsWithinFourUlpsInFloat) { expect_the_scalar_loop<float>(Distribution::normal); }
TEST(CudaPerturb, MakesNormalsWithinFourUlpsInDouble) {
  expect_the_scalar_loop<double>(Distribution::normal);
}
TEST(CudaPerturb, MakesSignsInFloat) { expect_the_scalar_loop<float>(Distribution::rademacher); }
TEST(CudaPerturb, MakesSignsInDouble) { expect_the_scalar_loop<double>(Distribution::rademacher); }

/// Many tensors, each beginning `offset` elements off, moved on the GPU and by the CPU's kernel.
template <class T>
struct ManyPerturbed {
  std::vector<DeviceArray<T>> base, out;
  std::vector<std::vector<T>> host_base, host_out;
  Perturb<T> launch;
  Perturb<T> host_launch;

  ManyPerturbed(Distribution distribution, const DeviceArray<std::int64_t>& step,
                const DeviceArray<double>& inverse, const double* inverse_on_host) {
    launch.direction = {kPerturbed.seed, step.data(), kPerturbed.probe};
    launch.distribution = distribution;
    launch.scale = 0.37;
    host_launch = launch;
    host_launch.direction.step = &kStep;
    std::uint64_t first = 99;
    unsigned seed = 0;
    const auto sizes = many_sizes();
    for (const auto count : sizes) {
      host_base.push_back(random_values<T>(count, ++seed));
      host_out.emplace_back(host_base.back().size());
      base.emplace_back(host_base.back(), seed % 3);
      out.emplace_back(std::vector<T>(host_base.back().size(), T{9}), seed % 2);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool scaled = i % 2 == 0;
      launch.segments.push_back(
          {out[i].data(), base[i].data(), sizes[i], first, scaled ? inverse.data() : nullptr});
      host_launch.segments.push_back(
          {host_out[i].data(), host_base[i].data(), sizes[i], first, scaled ? inverse_on_host : nullptr});
      first += static_cast<std::uint64_t>(sizes[i]);
    }
  }
};

template <class T>
void expect_the_cpu(Distribution distribution) {
  const DeviceArray<std::int64_t> step({kStep});
  const DeviceArray<double> inverse({0.0125});
  const double inverse_on_host = 0.0125;
  ManyPerturbed<T> many(distribution, step, inverse, &inverse_on_host);
  cuda_kernels().of<T>().perturb(many.launch);
  cpu_kernels().of<T>().perturb(many.host_launch);
  for (std::size_t i = 0; i < many.out.size(); ++i) {
    const std::vector<double> scale(many.host_out[i].size(), 4);  // |w| is below 2 + 0.37·6
    expect_close(many.out[i].values(), many.host_out[i], scale,
                 4 * static_cast<double>(std::numeric_limits<T>::epsilon()));
    EXPECT_TRUE(same_bits(many.base[i].values(), many.host_base[i]));
  }
  std::vector<std::vector<T>> before;
  for (const auto& out : many.out) before.push_back(out.values());
  cuda_kernels().of<T>().perturb(many.launch);
  for (std::size_t i = 0; i < many.out.size(); ++i)
    EXPECT_TRUE(same_bits(many.out[i].values(), before[i])) << "another run, other bits";
}

TEST(CudaPerturb, MovesManyTensorsAsTheCpuDoesInFloat) {
  expect_the_cpu<float>(Distribution::normal);
  expect_the_cpu<float>(Distribution::rademacher);
}
TEST(CudaPerturb, MovesManyTensorsAsTheCpuDoesInDouble) {
  expect_the_cpu<double>(Distribution::normal);
  expect_the_cpu<double>(Distribution::rademacher);
}

TEST(CudaPerturb, ReadsTheStepWhenItRuns) {
  DeviceArray<std::int64_t> step({1});
  const DirectionOfStep direction = {7, step.data(), 0};
  const auto one = direction_on_gpu<float>(direction, Distribution::normal, 0, 300);
  step.set({2});
  const auto two = direction_on_gpu<float>(direction, Distribution::normal, 0, 300);
  step.set({1});
  EXPECT_FALSE(same_bits(one, two));
  EXPECT_TRUE(same_bits(one, direction_on_gpu<float>(direction, Distribution::normal, 0, 300)));
}

TEST(CudaPerturb, MayWriteOverItsBase) {
  const DeviceArray<std::int64_t> step({kStep});
  for (const auto distribution : {Distribution::normal, Distribution::rademacher}) {
    const auto base = random_values<float>(5001, 1);
    const DeviceArray<float> from(base), apart(base), in_place(base);
    Perturb<float> launch;
    launch.direction = {11, step.data(), 2};
    launch.distribution = distribution;
    launch.scale = 0.1;
    launch.segments = {{apart.data(), from.data(), 5001, 77, nullptr}};
    cuda_kernels().of_float.perturb(launch);
    launch.segments = {{in_place.data(), in_place.data(), 5001, 77, nullptr}};
    cuda_kernels().of_float.perturb(launch);
    EXPECT_FALSE(same_bits(apart.values(), base));
    EXPECT_TRUE(same_bits(in_place.values(), apart.values()));
  }
}

TEST(CudaPerturb, OfNothingLeavesNoError) {
  Perturb<float> launch;
  cuda_kernels().of_float.perturb(launch);
  launch.segments.resize(100);
  cuda_kernels().of_float.perturb(launch);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace sadam::kernels::cuda
