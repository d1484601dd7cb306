// Over random inputs: how a direction is cut into segments, and how many threads work on it, cannot be seen
// in the result.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kernels/every_target.h"
#include "kernels/perturbed.h"

namespace sadam::kernels {
namespace {

class SplitProperty : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(SplitProperty);

TEST_P(SplitProperty, PerturbHasTheSameBitsForAnySplitAndAnyThreads) {
  const auto values = random_values<float>(70000, 5);
  const bool held = rc::check("split and threads", [&] {
    const DirectionKey key = {*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>(),
                              *rc::gen::inRange<std::uint32_t>(0, 65536)};
    const auto count = *rc::gen::inRange<std::int64_t>(0, 70000);
    const auto first = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 47);
    const auto distribution = *rc::gen::element(Distribution::normal, Distribution::rademacher);
    std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
    const auto cuts = random_cuts(count, *rc::gen::inRange(1, 20), engine);
    const std::vector<float> base(values.begin(), values.begin() + count);
    const auto whole = perturbed<float>(key, base, distribution, first, 1e-3, {0, count}, 1);
    for (const int threads : {1, 3}) {
      RC_ASSERT(perturbed<float>(key, base, distribution, first, 1e-3, cuts, threads) == whole);
    }
    const std::vector<double> base64(base.begin(), base.begin() + count / 8);
    const auto whole64 = perturbed<double>(key, base64, distribution, first, 1e-3, {0, count / 8}, 1);
    RC_ASSERT(perturbed<double>(key, base64, distribution, first, 1e-3, {0, count / 16, count / 8}, 2) ==
              whole64);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace sadam::kernels
