#include "kernels/direction_element.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/perturbed.h"

namespace sadam::kernels {
namespace {

const DirectionKey kKey = {0x0123456789abcdefu, 0x100000007u, 5};
const std::vector<std::uint64_t> kFirsts = {0,
                                            1,
                                            63,
                                            64,
                                            1000003,
                                            (std::uint64_t{1} << 34) - 77,
                                            (std::uint64_t{1} << 39) - 1001,
                                            (std::uint64_t{1} << 48) - 200000};

template <class T>
void expect_matches_scalar(std::uint64_t first, std::int64_t count) {
  const auto normal = generated<T>(kKey, Distribution::normal, first, count);
  const auto sign = generated<T>(kKey, Distribution::rademacher, first, count);
  const double tolerance = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto e = first + static_cast<std::uint64_t>(i);
    const auto index = static_cast<std::size_t>(i);
    const double want = normal_element<double>(kKey, e);
    ASSERT_NEAR(static_cast<double>(normal[index]), want, tolerance * (std::abs(want) + 1e-6))
        << "element " << e;
    ASSERT_EQ(sign[index], rademacher_element<T>(kKey, e)) << "element " << e;
  }
}

class Direction : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(Direction);

TEST_P(Direction, EqualsTheScalarFormulaWhereverItBegins) {
  for (const auto first : kFirsts) {
    for (const auto count : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 2500}) {
      expect_matches_scalar<float>(first, count);
      expect_matches_scalar<double>(first, count);
    }
  }
}

TEST_P(Direction, HasTheSameBitsHoweverItIsSplit) {
  std::mt19937 engine(7);
  for (const auto distribution : {Distribution::normal, Distribution::rademacher}) {
    for (const auto first : kFirsts) {
      const std::int64_t count = 5000;
      const auto whole = generated<float>(kKey, distribution, first, count);
      const auto whole64 = generated<double>(kKey, distribution, first, count);
      const auto cuts = random_cuts(count, 40, engine);
      for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
        const auto from = first + static_cast<std::uint64_t>(cuts[k]);
        const auto size = cuts[k + 1] - cuts[k];
        const auto piece = generated<float>(kKey, distribution, from, size);
        const auto piece64 = generated<double>(kKey, distribution, from, size);
        ASSERT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + cuts[k]));
        ASSERT_TRUE(std::equal(piece64.begin(), piece64.end(), whole64.begin() + cuts[k]));
      }
    }
  }
}

TEST_P(Direction, ChangesWithSeedStepAndProbe) {
  const auto base = generated<float>({1, 2, 3}, Distribution::normal, 0, 64);
  const std::uint64_t high = std::uint64_t{1} << 32;
  for (const DirectionKey other : {DirectionKey{2, 2, 3}, DirectionKey{1 + high, 2, 3}, DirectionKey{1, 3, 3},
                                   DirectionKey{1, 2 + high, 3}, DirectionKey{1, 2, 4}}) {
    const auto z = generated<float>(other, Distribution::normal, 0, 64);
    int equal = 0;
    for (std::size_t i = 0; i < z.size(); ++i) equal += z[i] == base[i];
    EXPECT_EQ(equal, 0);
  }
}

// Two machines of one cluster may differ in their instruction sets; those with a fused multiply-add agree to
// the bit.
TEST(DirectionAcrossTargets, AgreesBetweenAvx2AndAvx512) {
  const std::int64_t both = HWY_AVX2 | HWY_AVX3;
  if ((hwy::SupportedTargets() & both) != both) GTEST_SKIP() << "needs AVX2 and AVX-512";
  const auto bits = [](std::int64_t target) {
    const TargetScope scope(target);
    SquaredNorm norm;
    norm.key = kKey;
    norm.first = 13;
    norm.count = 100001;
    return std::tuple(generated<float>(kKey, Distribution::normal, 3, 10000),
                      generated<double>(kKey, Distribution::normal, 3, 10000), squared_norm(norm));
  };
  EXPECT_EQ(bits(HWY_AVX2), bits(HWY_AVX3));
}

}  // namespace
}  // namespace sadam::kernels
