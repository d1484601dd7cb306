#include "kernels/cuda/directions_on_host.h"

namespace sadam::kernels::cuda {
namespace {

std::vector<double> inverse_lengths_on_gpu(
    InverseLengths launch, const std::vector<std::pair<std::uint64_t, std::int64_t>>& ranges) {
  std::vector<DeviceArray<double>> inverses;
  for (const auto& [first, count] : ranges) {
    inverses.emplace_back(std::vector<double>{-1});
    launch.segments.push_back({first, static_cast<std::uint64_t>(count), inverses.back().data()});
  }
  const DeviceArray<double> scratch(
      std::vector<double>(static_cast<std::size_t>(cuda_kernels().lengths_scratch(launch))));
  launch.scratch = scratch.data();
  cuda_kernels().inverse_lengths(launch);
  static_cast<void>(scratch.values());  // checks its margins
  std::vector<double> values;
  for (const auto& inverse : inverses) values.push_back(inverse.value());
  return values;
}

TEST(CudaInverseLengths, AreThoseOfTheCpu) {
  const DeviceArray<std::int64_t> step({66});
  InverseLengths launch;
  launch.direction = {77, step.data(), 55};
  std::vector<std::pair<std::uint64_t, std::int64_t>> ranges;
  for (const auto first : firsts())
    for (const auto count : odd_sizes()) ranges.emplace_back(first, count);
  std::uint64_t first = 3;
  for (const auto count : many_sizes()) {
    ranges.emplace_back(first, count);
    first += static_cast<std::uint64_t>(count);
  }
  for (const double added : {0.0, 1e-3}) {
    launch.added = added;
    const auto got = inverse_lengths_on_gpu(launch, ranges);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto count = static_cast<std::uint64_t>(ranges[i].second);
      const double length = std::sqrt(squared_norm({{77, 66, 55}, ranges[i].first, count, 1})) + added;
      const double want = length > 0 ? 1 / length : 0;
      EXPECT_NEAR(got[i], want, 1e-12 * want) << count << " from " << ranges[i].first;
    }
    EXPECT_EQ(inverse_lengths_on_gpu(launch, ranges), got) << "another run, other bits";
  }
}

// Many elements: the products of uniforms must not run out of range.
TEST(CudaInverseLengths, OfManyElementsIsNearOneOverTheRootOfTheirCount) {
  const DeviceArray<std::int64_t> step({0});
  InverseLengths launch;
  launch.direction = {1, step.data(), 0};
  const double n = 1 << 21;
  const double inverse = inverse_lengths_on_gpu(launch, {{0, 1 << 21}})[0];
  EXPECT_NEAR(1 / (inverse * inverse), n, 4.5 * std::sqrt(2 * n));
}

TEST(CudaInverseLengths, MakePerturbationsOfTheWantedLength) {
  const DeviceArray<std::int64_t> step({5});
  const DeviceArray<double> inverse({0.0});
  InverseLengths lengths;
  lengths.direction = {3, step.data(), 1};
  lengths.segments = {{12, 20001, inverse.data()}};
  const DeviceArray<double> scratch(
      std::vector<double>(static_cast<std::size_t>(cuda_kernels().lengths_scratch(lengths))));
  lengths.scratch = scratch.data();
  cuda_kernels().inverse_lengths(lengths);
  const DeviceArray<double> w(std::vector<double>(20001, 0.0));
  Perturb<double> launch;
  launch.direction = lengths.direction;
  launch.scale = 0.25;
  launch.segments = {{w.data(), w.data(), 10000, 12, inverse.data()},
                     {w.data() + 10000, w.data() + 10000, 10001, 10012, inverse.data()}};
  cuda_kernels().of_double.perturb(launch);
  double squares = 0;
  for (const double x : w.values()) squares += x * x;
  EXPECT_NEAR(std::sqrt(squares), 0.25, 1e-13);
}

}  // namespace
}  // namespace sadam::kernels::cuda
