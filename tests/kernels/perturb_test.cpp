#include <gtest/gtest.h>

#include "kernels/direction_element.h"
#include "kernels/perturbed.h"

namespace sadam::kernels {
namespace {

const std::int64_t kPerturbStep = 1234567;
const DirectionKey kPerturbKey = {42, 1234567, 3};
const DirectionOfStep kPerturbDirection = {42, &kPerturbStep, 3};

class PerturbOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(PerturbOnEveryTarget);

template <class T>
void expect_plain_loop(Distribution distribution) {
  for (const auto count : awkward_sizes()) {
    const std::uint64_t first = 1000 + static_cast<std::uint64_t>(count) % 7;
    const auto base = random_values<T>(count, 1);
    const double scale = 0.37;
    const auto out = perturbed<T>(kPerturbKey, base, distribution, first, scale, {0, count}, 2);
    // Every element of the short ones; of the long ones, some of each chunk.
    for (std::int64_t i = 0; i<count; i += count> 3000 ? 61 : 1) {
      const auto e = first + static_cast<std::uint64_t>(i);
      const double z = distribution == Distribution::normal ? normal_element<double>(kPerturbKey, e)
                                                            : rademacher_element<double>(kPerturbKey, e);
      const auto index = static_cast<std::size_t>(i);
      const double rounding = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());
      SADAM_ASSERT_NEAR(static_cast<double>(out[index]), static_cast<double>(base[index]) + scale * z,
                        rounding)
          << i << " of " << count;
    }
  }
}

TEST_P(PerturbOnEveryTarget, IsBasePlusScaledDirectionInFloat) {
  expect_plain_loop<float>(Distribution::normal);
  expect_plain_loop<float>(Distribution::rademacher);
}

TEST_P(PerturbOnEveryTarget, IsBasePlusScaledDirectionInDouble) {
  expect_plain_loop<double>(Distribution::normal);
  expect_plain_loop<double>(Distribution::rademacher);
}

TEST_P(PerturbOnEveryTarget, HasTheSameBitsForAnyThreads) {
  const auto base = random_values<float>(150001, 5);
  const std::vector<std::int64_t> whole = {0, 150001}, pieces = {0, 1, 70000, 70000, 150001};
  for (const auto distribution : {Distribution::normal, Distribution::rademacher}) {
    const auto one = perturbed(kPerturbKey, base, distribution, 12345, 1e-3, whole, 1);
    for (const int threads : {2, 3}) {
      EXPECT_EQ(perturbed(kPerturbKey, base, distribution, 12345, 1e-3, whole, threads), one);
      EXPECT_EQ(perturbed(kPerturbKey, base, distribution, 12345, 1e-3, pieces, threads), one);
    }
  }
}

// δ·(1/‖z‖) is formed in double, and rounded once.
TEST_P(PerturbOnEveryTarget, DividesEachSegmentByItsOwnLength) {
  const auto base = random_values<float>(150, 1);
  const double inverse[] = {0.0, 0.1};
  std::vector<float> out(150);
  Perturb<float> launch;
  launch.direction = kPerturbDirection;
  launch.scale = 0.3;
  launch.segments = {{out.data(), base.data(), 50, 0, &inverse[0]},
                     {out.data() + 50, base.data() + 50, 50, 50, &inverse[1]},
                     {out.data() + 100, base.data() + 100, 50, 100, nullptr}};
  cpu_kernels().of_float.perturb(launch);
  const auto tenth = perturbed(kPerturbKey, base, Distribution::normal, 0, 0.3 * 0.1, {0, 150}, 1);
  const auto whole = perturbed(kPerturbKey, base, Distribution::normal, 0, 0.3, {0, 150}, 1);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(out[i], base[i]);
  for (std::size_t i = 50; i < 100; ++i) EXPECT_EQ(out[i], tenth[i]);
  for (std::size_t i = 100; i < 150; ++i) EXPECT_EQ(out[i], whole[i]);
}

TEST_P(PerturbOnEveryTarget, ReadsTheStepWhenItRuns) {
  const std::vector<float> zeros(300);
  std::vector<float> out(300);
  std::int64_t step = 1;
  Perturb<float> launch;
  launch.direction = {42, &step, 3};
  launch.scale = 1;
  launch.segments = {{out.data(), zeros.data(), 300, 0, nullptr}};
  for (step = 1; step < 4; ++step) {
    cpu_kernels().of_float.perturb(launch);
    const DirectionKey key = {42, static_cast<std::uint64_t>(step), 3};
    for (std::size_t e = 0; e < out.size(); ++e) EXPECT_NEAR(out[e], normal_element<double>(key, e), 1e-5);
  }
}

// What a probe does: the same buffer perturbed again and again from one snapshot, also in place of it.
TEST_P(PerturbOnEveryTarget, MayWriteOverItsBase) {
  const auto base = random_values<float>(5000, 1);
  const auto want = perturbed<float>(kPerturbKey, base, Distribution::normal, 77, 0.1, {0, 5000}, 1);
  auto w = base;
  Perturb<float> launch;
  launch.direction = kPerturbDirection;
  launch.scale = 0.1;
  launch.segments = {{w.data(), w.data(), 5000, 77, nullptr}};
  cpu_kernels().of_float.perturb(launch);
  EXPECT_EQ(w, want);
}

}  // namespace
}  // namespace sadam::kernels
