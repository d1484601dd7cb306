#include "lab/theory.h"

#include <gtest/gtest.h>
#include <sadam/sadam.h>

#include <cmath>
#include <random>
#include <set>

#include "base/usage_error.h"
#include "lab/landscape.h"
#include "lab/small_net.h"
#include "lab/walk.h"

namespace sadam::lab {
namespace {

const LongWork kQuick{.quick = true, .seed = 1, .stop = nullptr, .progress = nullptr};

Case measured_as(Relation relation, double predicted, Estimate measured, double tolerance = 0) {
  return {{relation, predicted, tolerance}, "", measured};
}

// ---- verdicts ---------------------------------------------------------------------------------------------

TEST(Verdict, OfABoundFollowsFromTheInterval) {
  const Estimate seen{0.5, 0.4, 0.6};
  EXPECT_EQ(judge(measured_as(Relation::at_most, 0.6, seen)), Verdict::holds);
  EXPECT_EQ(judge(measured_as(Relation::at_most, 0.5, seen)), Verdict::undecided);
  EXPECT_EQ(judge(measured_as(Relation::at_most, 0.39, seen)), Verdict::fails);
  EXPECT_EQ(judge(measured_as(Relation::at_most, 0.39, seen, 0.3)), Verdict::holds) << "within tolerance";
  EXPECT_EQ(judge(measured_as(Relation::at_least, 0.4, seen)), Verdict::holds);
  EXPECT_EQ(judge(measured_as(Relation::at_least, 0.5, seen)), Verdict::undecided);
  EXPECT_EQ(judge(measured_as(Relation::at_least, 0.61, seen)), Verdict::fails);
}

TEST(Verdict, OfAStrictBoundFailsWhereItIsReached) {
  EXPECT_EQ(judge(measured_as(Relation::below, 1, Estimate(1))), Verdict::fails);
  EXPECT_EQ(judge(measured_as(Relation::below, 1, Estimate(std::nextafter(1, 0)))), Verdict::holds);
  EXPECT_EQ(judge(measured_as(Relation::above, 0, Estimate(0))), Verdict::fails);
  EXPECT_EQ(judge(measured_as(Relation::above, 0, Estimate(1e-300))), Verdict::holds);
}

TEST(Verdict, OfAnEqualityNeedsTheWholeIntervalWithinTheTolerance) {
  EXPECT_EQ(judge(measured_as(Relation::equals, 2, {2, 1.98, 2.02}, 0.05)), Verdict::holds);
  EXPECT_EQ(judge(measured_as(Relation::equals, 2, {2, 1.9, 2.02}, 0.05)), Verdict::undecided);
  EXPECT_EQ(judge(measured_as(Relation::equals, 2, {2, 1.5, 2.5}, 0.05)), Verdict::undecided) << "too wide";
  EXPECT_EQ(judge(measured_as(Relation::equals, 3, {2, 1.98, 2.02}, 0.05)), Verdict::fails);
}

TEST(Verdict, OfANumberThatIsNoneIsThatItFails) {
  const double nan = std::nan("");
  for (const auto relation :
       {Relation::equals, Relation::at_most, Relation::below, Relation::at_least, Relation::above})
    EXPECT_EQ(judge(measured_as(relation, 1, Estimate(nan), 1)), Verdict::fails);
}

TEST(Verdict, OfAClaimIsThatOfItsCases) {
  const auto good = measured_as(Relation::at_most, 1, Estimate(0));
  const auto bad = measured_as(Relation::at_most, 1, Estimate(2));
  const auto open = measured_as(Relation::at_most, 1, {1, 0, 2});
  const auto of = [](std::vector<Case> cases) {
    Claim claim{.id = "", .where = "", .statement = ""};
    claim.cases = std::move(cases);
    return judge(claim);
  };
  EXPECT_EQ(of({good, good}), Verdict::holds);
  EXPECT_EQ(of({good, bad}), Verdict::in_part);
  EXPECT_EQ(of({bad, bad}), Verdict::fails);
  EXPECT_EQ(of({bad, open}), Verdict::fails);
  EXPECT_EQ(of({good, open}), Verdict::undecided);
  EXPECT_EQ(of({open}), Verdict::undecided);
  EXPECT_EQ(of({}), Verdict::undecided) << "nothing was measured";
}

// ---- false formulas ---------------------------------------------------------------------------------------

/// The cheap topics: bounds, equalities, exponents.
const std::vector<Claim>& quick_claims() {
  static const auto claims = [] {
    std::vector<Claim> all;
    for (auto* const check : {check_bounds, check_proximal, check_diameter})
      for (auto& claim : check(kQuick)) all.push_back(std::move(claim));
    return all;
  }();
  return claims;
}

const Claim& claim_of(const std::vector<Claim>& claims, const std::string& id) {
  for (const auto& claim : claims)
    if (claim.id == id) return claim;
  throw Error("no such claim: " + id);
}

TEST(Theory, AFalseFormulaFlipsTheVerdictOfEveryCase) {
  for (const auto& claim : quick_claims())
    for (const auto& one : claim.cases) {
      ASSERT_NE(judge(one), Verdict::undecided) << claim.id << ", " << one.name;
      const double off = 10 * (1 + std::fabs(one.measured.value) + one.tolerance);
      const bool is_upper = one.relation == Relation::at_most || one.relation == Relation::below;
      auto wrong = one;
      wrong.predicted = one.measured.value + (is_upper ? -off : off);
      EXPECT_EQ(judge(wrong), Verdict::fails) << claim.id << ", " << one.name;
      auto right = one;
      right.predicted = one.measured.value;
      if (one.relation == Relation::below) right.predicted += off;
      if (one.relation == Relation::above) right.predicted -= off;
      EXPECT_EQ(judge(right), Verdict::holds) << claim.id << ", " << one.name;
    }
}

TEST(Theory, FindsTheBoundsOfRho) {
  const auto& claims = quick_claims();
  auto rho = claim_of(claims, "bounds.rho");
  EXPECT_EQ(judge(rho), Verdict::holds);
  rho.cases.back().predicted = 0.99;  // as if ρ stayed below that
  EXPECT_EQ(judge(rho), Verdict::in_part);
  EXPECT_EQ(judge(claim_of(claims, "bounds.code")), Verdict::fails);
  EXPECT_NEAR(claim_of(claims, "bounds.code").cases.front().measured.value, 2, 1e-6) << "k = 2: up to 2";
  EXPECT_EQ(judge(claim_of(claims, "bounds.unbiased")), Verdict::holds);
  EXPECT_EQ(claim_of(claims, "bounds.rounding").cases.front().measured.value, 1);
}

TEST(Theory, AFalseExponentFlipsTheVerdictOfASlopeOverSeeds) {
  constexpr std::size_t kSeeds = 30;
  const std::vector<double> lengths = {100, 1000, 10000};
  std::mt19937_64 generator(2);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> runs(kSeeds);
  for (auto& run : runs)
    for (const double length : lengths)
      run.push_back(3 / std::sqrt(length) * std::exp(0.2 * normal(generator)));
  const auto slope = over_seeds(
      kSeeds,
      [&](const std::vector<std::size_t>& some) {
        std::vector<double> means(lengths.size(), 0);
        for (const auto seed : some)
          for (std::size_t i = 0; i < means.size(); ++i) means[i] += runs[seed][i];
        return power(lengths, means);
      },
      1);
  EXPECT_LT(slope.low, slope.high);
  EXPECT_EQ(judge(measured_as(Relation::at_most, -0.5, slope, 0.1)), Verdict::holds);
  EXPECT_EQ(judge(measured_as(Relation::equals, -0.5, slope, 0.1)), Verdict::holds);
  EXPECT_EQ(judge(measured_as(Relation::at_most, -1, slope, 0.1)), Verdict::fails);
  EXPECT_EQ(judge(measured_as(Relation::equals, 0, slope, 0.1)), Verdict::fails);
}

TEST(Theory, FindsTheOrderOfTheProximalForm) {
  auto order = claim_of(quick_claims(), "proximal.order");
  EXPECT_EQ(judge(order), Verdict::holds);
  order.cases.front().predicted = 3;
  EXPECT_EQ(judge(order), Verdict::fails);
  EXPECT_EQ(judge(claim_of(quick_claims(), "proximal.used")), Verdict::in_part);
}

TEST(Theory, SeesVarianceWithoutDiameterAndDiameterWithoutVariance) {
  const auto& claims = quick_claims();
  EXPECT_EQ(judge(claim_of(claims, "diameter.lower")), Verdict::fails);
  EXPECT_EQ(judge(claim_of(claims, "diameter.upper")), Verdict::in_part);
  EXPECT_EQ(judge(claim_of(claims, "diameter.upper").cases.back()), Verdict::fails) << "the norm at 0";
}

// ---- a topic ----------------------------------------------------------------------------------------------

TEST(Theory, ClaimsSayWhatTheyAreAndWhere) {
  std::set<std::string> ids;
  for (const auto& claim : quick_claims()) {
    EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
    EXPECT_FALSE(claim.where.empty() || claim.statement.empty() || claim.cases.empty()) << claim.id;
    for (const auto& one : claim.cases) {
      EXPECT_TRUE(judge(one) != Verdict::fails || !one.counterexample.empty())
          << claim.id << ", " << one.name;
    }
  }
}

TEST(Theory, TheSameSeedGivesTheSameNumbersAndAnotherOnesOthers) {
  const auto numbers = [](std::uint64_t seed) {
    std::vector<double> all;
    for (const auto& claim :
         check_diameter({.quick = true, .seed = seed, .stop = nullptr, .progress = nullptr}))
      for (const auto& one : claim.cases) all.push_back(one.measured.value);
    return all;
  };
  const auto first = numbers(1);
  EXPECT_EQ(first, numbers(1));
  EXPECT_NE(first, numbers(2));
}

TEST(Theory, StopsWhenAskedTo) {
  const std::atomic<bool> stop = true;
  for (const auto& topic : theory_topics()) {
    if (topic.name == "proximal") continue;  // over before anybody could ask
    const LongWork options{.quick = false, .seed = 1, .stop = &stop, .progress = nullptr};
    EXPECT_THROW(topic.check(options), Interrupted) << topic.name;
  }
}

TEST(Theory, NamesTheNearestTopic) {
  EXPECT_EQ(theory_topic("rate").name, "rate");
  try {
    theory_topic("curvatur");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'curvature'"), std::string::npos) << error.what();
  }
}

// ---- walks ------------------------------------------------------------------------------------------------

class WalkOn : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lab, WalkOn, ::testing::ValuesIn(landscape_names()),
                         [](const auto& each) { return each.param; });

TEST_P(WalkOn, IsWhatTheOptimizerDoes) {
  const auto f = make_landscape(GetParam());
  auto w = torch::tensor(f.start, torch::kDouble).requires_grad_();
  SAdam optimizer({w}, SAdamOptions::paper(0.05).weight_decay(0).probes(3).seed(11));
  auto options = WalkOptions::paper(0.05);
  options.probes = 3;
  options.seed = 11;
  Walk walk(f.start, options);
  for (int t = 0; t < 60; ++t) {
    walk.step([&](const Point& x) { return f.value(x); }, f.gradient(walk.at()));
    optimizer.step([&] { return f.loss(w); });
    ASSERT_NEAR(walk.lgi(), optimizer.summary().lgi, 1e-9) << t;
    ASSERT_NEAR(walk.brake(), optimizer.summary().brake, 1e-9) << t;
    for (std::size_t i = 0; i < f.start.size(); ++i)
      ASSERT_NEAR(walk.at()[i], w[static_cast<std::int64_t>(i)].item<double>(), 1e-9) << t;
  }
}

TEST(Walk, WithoutABrakeIsAdamW) {
  const auto f = make_landscape("quadratic");
  auto w = torch::tensor(f.start, torch::kDouble).requires_grad_();
  AdamW optimizer({w}, AdamWOptions(0.05).weight_decay(0));
  auto options = WalkOptions::adam(0.05);
  options.rule.bias_correction = BiasCorrection::adamw;
  Walk walk(f.start, options);
  for (int t = 0; t < 60; ++t) {
    walk.step({}, f.gradient(walk.at()));
    optimizer.step([&] { return f.loss(w); });
    for (std::size_t i = 0; i < f.start.size(); ++i)
      ASSERT_NEAR(walk.at()[i], w[static_cast<std::int64_t>(i)].item<double>(), 1e-12) << t;
  }
}

TEST(Walk, TakesAGivenBrake) {
  const auto step_with = [](double brake) {
    Walk walk({1}, WalkOptions::adam(0.1));
    walk.set_brake(brake);
    walk.step({}, {2});
    return 1 - walk.at()[0];
  };
  EXPECT_NEAR(step_with(0.25), 0.25 * step_with(1), 1e-15);
}

TEST(Directional, LeadsAsFarAsTheRadius) {
  Directional<double> directions({50}, 3);
  const Point x(50, 2);
  const auto first = directions.from(x, 0.3, 4, 1);
  EXPECT_NEAR(norm(sum(first, x, -1)), 0.3, 1e-12);
  EXPECT_NE(first, directions.from(x, 0.3, 4, 2));
  EXPECT_NE(first, directions.from(x, 0.3, 5, 1));
  EXPECT_EQ(first, directions.from(x, 0.3, 4, 1));
}

TEST(SmallNet, HasTheGradientThatDifferencesHave) {
  std::mt19937_64 generator(5);
  const auto batch = draw_examples(20, generator);
  for (const auto& net : {SmallNet("logistic", 0), SmallNet("ReLU", 8)}) {
    const auto w = net.start(3);
    const auto slope = net.gradient(w, batch);
    for (std::size_t i = 0; i < w.size(); ++i) {
      auto there = w, back = w;
      there[i] += 1e-6;
      back[i] -= 1e-6;
      EXPECT_NEAR(slope[i], (net.loss(there, batch) - net.loss(back, batch)) / 2e-6, 1e-7) << net.name() << i;
    }
  }
}

// ---- estimates --------------------------------------------------------------------------------------------

TEST(EstimateOf, AMeanHasStudentsInterval) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  const auto mean = mean_of(values);
  EXPECT_NEAR(mean.value, 3, 1e-12);
  EXPECT_NEAR(mean.high - mean.value, 2.776 * std::sqrt(2.5 / 5), 1e-3);
}

TEST(EstimateOf, AShareHasWilsonsInterval) {
  const auto half = share_of(10, 20);
  EXPECT_NEAR(half.low, 0.2993, 1e-4);
  EXPECT_NEAR(half.high, 0.7007, 1e-4);
  EXPECT_EQ(share_of(20, 20).high, 1);
  EXPECT_EQ(share_of(0, 20).low, 0);
}

TEST(EstimateOf, APowerIsItsExponent) {
  const std::vector<double> x = {1, 2, 4, 8};
  const std::vector<double> y = {3, 3 / std::sqrt(2), 1.5, 1.5 / std::sqrt(2)};
  EXPECT_NEAR(power(x, y), -0.5, 1e-12);
}

TEST(EstimateOf, SeedsHasAnIntervalThatHoldsTheTruth) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  int hits = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values(30);
    for (auto& each : values) each = 5 + normal(generator);
    const auto mean = over_seeds(
        values.size(),
        [&](const std::vector<std::size_t>& some) {
          double total = 0;
          for (const auto i : some) total += values[i] / static_cast<double>(some.size());
          return total;
        },
        1);
    hits += mean.low <= 5 && 5 <= mean.high ? 1 : 0;
  }
  EXPECT_GT(hits, 175) << "of 200, of which 190 are expected";
}

}  // namespace
}  // namespace sadam::lab
