#include "kernels/cuda/directions_on_host.h"

namespace sadam::kernels::cuda {
namespace {

/// Gradients of many tensors and what their dot must be, by the direction that the GPU itself makes.
template <class T>
struct ManyDots {
  std::vector<DeviceArray<T>> gradients;
  Dot<T> launch;
  double want = 0;
  double magnitude = 0;  ///< Σ |terms|

  ManyDots(const DirectionOfStep& direction, Distribution distribution, std::uint64_t first,
           const std::vector<std::int64_t>& sizes, const DeviceArray<double>& inverse) {
    launch.direction = direction;
    launch.distribution = distribution;
    launch.scale = 0.5;
    long double sum = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto g = random_values<T>(sizes[i], static_cast<unsigned>(i));
      const auto z = direction_on_gpu<T>(direction, distribution, first, sizes[i]);
      const bool scaled = i % 2 == 0;
      const double factor = scaled ? 0.5 * inverse.value() : 0.5;
      for (std::size_t k = 0; k < g.size(); ++k) {
        const long double term = static_cast<long double>(g[k]) * z[k] * factor;
        sum += term;
        magnitude += static_cast<double>(term < 0 ? -term : term);
      }
      gradients.emplace_back(g, i % 3);
      launch.segments.push_back(
          {gradients.back().data(), sizes[i], first, scaled ? inverse.data() : nullptr});
      first += static_cast<std::uint64_t>(sizes[i]);
    }
    want = static_cast<double>(sum);
  }

  double run(double start) {
    const DeviceArray<double> out({start});
    const DeviceArray<double> scratch(
        std::vector<double>(static_cast<std::size_t>(cuda_kernels().of<T>().dot_scratch(launch))));
    launch.out = out.data();
    launch.scratch = scratch.data();
    cuda_kernels().of<T>().dot(launch);
    static_cast<void>(scratch.values());  // checks its margins
    return out.value();
  }
};

template <class T>
void expect_the_sum() {
  const DeviceArray<std::int64_t> step({42});
  const DeviceArray<double> inverse({0.0125});
  std::vector<std::vector<std::int64_t>> lists = {many_sizes()};
  for (const auto size : odd_sizes()) lists.push_back({size});
  for (const auto distribution : {Distribution::normal, Distribution::rademacher}) {
    for (const auto first : {std::uint64_t{0}, std::uint64_t{77}, (std::uint64_t{3} << 34) - 500}) {
      for (const auto& sizes : lists) {
        ManyDots<T> dots({9, step.data(), 4}, distribution, first, sizes, inverse);
        const double got = dots.run(1000);
        EXPECT_NEAR(got - 1000, dots.want, 1e-12 * (dots.magnitude + 1000)) << sizes[0] << " from " << first;
        EXPECT_EQ(dots.run(1000), got) << "another run, other bits";
      }
    }
  }
}

TEST(CudaDot, AddsTheProductsWithTheDirectionInFloat) { expect_the_sum<float>(); }
TEST(CudaDot, AddsTheProductsWithTheDirectionInDouble) { expect_the_sum<double>(); }

// Directions in float32 differ by a few roundings.
template <class T>
void expect_the_twins_sum(double tolerance) {
  const DeviceArray<std::int64_t> step({42});
  const DeviceArray<double> one({1.0});
  for (const auto distribution : {Distribution::normal, Distribution::rademacher}) {
    for (const auto size : odd_sizes()) {
      const auto g = random_values<T>(size, 0);
      ManyDots<T> dots({9, step.data(), 4}, distribution, 5, {size}, one);
      const std::int64_t step_on_host = 42;
      double want = 0;
      Dot<T> twin;
      twin.direction = {9, &step_on_host, 4};
      twin.distribution = distribution;
      twin.scale = 0.5;
      twin.segments = {{g.data(), size, 5, nullptr}};
      twin.out = &want;
      cpu_kernels().of<T>().dot(twin);
      EXPECT_NEAR(dots.run(0), want, tolerance * dots.magnitude) << size;
    }
  }
}

TEST(CudaDot, AgreesWithTheCpuInFloat) { expect_the_twins_sum<float>(1e-6); }
TEST(CudaDot, AgreesWithTheCpuInDouble) { expect_the_twins_sum<double>(1e-12); }

TEST(CudaDot, OfNothingAddsNothing) {
  Dot<float> launch;
  launch.segments.resize(70);
  EXPECT_EQ(cuda_kernels().of_float.dot_scratch(launch), 0);
  cuda_kernels().of_float.dot(launch);
}

}  // namespace
}  // namespace sadam::kernels::cuda
