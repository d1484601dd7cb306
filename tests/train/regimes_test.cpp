#include "train/regimes.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

namespace sadam::train {
namespace {

using Numbers = std::function<double(std::mt19937&)>;

/// How many of `streams` streams of `length` numbers raise an alarm.
int alarms(const Numbers& stream, int streams, int length, std::int64_t block) {
  int raised = 0;
  for (int seed = 0; seed < streams; ++seed) {
    std::mt19937 engine(static_cast<unsigned>(seed));
    LevelDetector detector(block);
    bool alarm = false;
    for (int i = 0; i < length; ++i) alarm = detector.add(stream(engine)) || alarm;
    raised += alarm;
  }
  return raised;
}

// About one false alarm in 400 000 blocks, whatever the distribution; one in 45 000 where there are many
// ties. Here are 30 000 of each, and more alarms come with a probability below 0.003.
TEST(LevelDetector, RaisesFewFalseAlarmsWhateverTheDistribution) {
  const Numbers normal = [](auto& engine) { return std::normal_distribution<>()(engine); };
  const Numbers heavy = [](auto& engine) { return std::cauchy_distribution<>()(engine); };
  const Numbers coin = [](auto& engine) { return std::bernoulli_distribution(0.3)(engine) ? 1.0 : 0.0; };
  EXPECT_LE(alarms(normal, 60, 500, 1), 1);
  EXPECT_LE(alarms(heavy, 60, 500, 1), 1);
  EXPECT_LE(alarms(coin, 60, 500, 1), 4);
}

// Neighbours that depend on each other are what blocks are for: half of each number is that before it.
TEST(LevelDetector, BlocksTakeOutWhatNeighboursHaveInCommon) {
  double last = 0;
  const Numbers dependent = [&](auto& engine) {
    return last = 0.5 * last + std::normal_distribution<>()(engine);
  };
  EXPECT_LE(alarms(dependent, 40, 10'000, 20), 2);
  EXPECT_GT(alarms(dependent, 10, 2'000, 1), 5) << "without blocks they are taken for changes";
}

TEST(LevelDetector, FindsAChangeOfTwoDeviationsWithinTwentyNumbers) {
  for (const double shift : {2.0, -2.0}) {
    int found = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
      std::mt19937 engine(seed);
      std::normal_distribution<> noise;
      LevelDetector detector(1);
      for (int i = 0; i < 100; ++i) detector.add(noise(engine));
      for (int i = 0; i < 20; ++i) {
        const auto change = detector.add(noise(engine) + shift);
        if (!change) continue;
        ++found;
        EXPECT_NEAR(change->before, 0, 0.8);
        EXPECT_NEAR(change->after, shift, 1.5);
        EXPECT_EQ(change->score > 0, shift > 0);
        break;
      }
    }
    EXPECT_GE(found, 95) << shift;
  }
}

TEST(LevelDetector, OfEqualNumbersAndOnesThatAreNotFiniteSaysNothing) {
  LevelDetector detector(2);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(detector.add(0.5));
    EXPECT_FALSE(detector.add(std::numeric_limits<double>::quiet_NaN()));
    EXPECT_FALSE(detector.add(std::numeric_limits<double>::infinity()));
  }
}

}  // namespace
}  // namespace sadam::train
