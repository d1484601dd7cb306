#include "lab/audit.h"

#include <sadam/s_adam.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/usage_error.h"
#include "support/models.h"
#include "support/refusal.h"

namespace sadam::lab {
namespace {

// ---- areas ------------------------------------------------------------------------------------------------

TEST(AreaUnderRoc, IsTheShareOfPairsInTheRightOrder) {
  const std::vector<double> kinked = {3, 1};
  const std::vector<double> smooth = {2, 0};
  const auto area = area_under_roc(kinked, smooth);
  EXPECT_EQ(area.value, 0.75) << "3 > 2, 3 > 0, 1 > 0, but 1 < 2";
  // By hand: Q1 = 0.6, Q2 = 0.642857, variance (0.1875 + 0.0375 + 0.080357)/4.
  EXPECT_NEAR(area.low, 0.75 - 1.959964 * std::sqrt(0.0763393), 1e-6);
  EXPECT_EQ(area.high, 1);
}

TEST(AreaUnderRoc, CountsTiesForHalf) {
  const std::vector<double> kinked = {1, 2, 2};
  const std::vector<double> smooth = {2, 0};
  EXPECT_NEAR(area_under_roc(kinked, smooth).value, (3 + 2 * 0.5) / 6, 1e-15);
  EXPECT_EQ(area_under_roc(smooth, smooth).value, 0.5);
}

TEST(AreaUnderRoc, OfAPerfectEstimatorIsOneWithSomeDoubt) {
  const std::vector<double> kinked = {5, 6, 7, 8};
  const std::vector<double> smooth = {1, 2, 3, 4};
  const auto area = area_under_roc(kinked, smooth);
  EXPECT_EQ(area.value, 1);
  EXPECT_LT(area.low, 0.95);
  EXPECT_EQ(area_under_roc(smooth, kinked).value, 0);
}

TEST(AreaUnderRoc, OfARandomEstimatorIsAHalf) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  constexpr int kRounds = 400;
  int covered = 0;
  double sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> kinked(40), smooth(60);
    for (auto& each : kinked) each = normal(generator);
    for (auto& each : smooth) each = normal(generator);
    const auto area = area_under_roc(kinked, smooth);
    sum += area.value / kRounds;
    covered += area.low <= 0.5 && 0.5 <= area.high ? 1 : 0;
  }
  EXPECT_NEAR(sum, 0.5, 0.01);
  EXPECT_GE(covered, 0.92 * kRounds);
  EXPECT_LE(covered, 0.985 * kRounds);
}

TEST(MeanArea, HasANarrowerInterval) {
  const std::vector<Estimate> areas = {{0.8, 0.7, 0.9}, {1, 0.9, 1}};
  const auto mean = mean_area(areas);
  EXPECT_NEAR(mean.value, 0.9, 1e-15);
  EXPECT_NEAR(mean.low, 0.9 - std::sqrt(0.02) / 2, 1e-12);
}

// ---- terrains ---------------------------------------------------------------------------------------------

Point random_point(std::size_t dimensions, std::mt19937_64& generator) {
  Point x(dimensions);
  for (auto& each : x) each = std::uniform_real_distribution<double>(-2, 2)(generator);
  return x;
}

TEST(LongChain, IsTheLandscapeOfThatName) {
  std::mt19937_64 generator(2);
  const auto f = make_landscape("chain", 7);
  const auto chain = long_chain(7);
  const auto twin = long_chain_twin(7);
  const auto slow_twin = twin_of(std::make_shared<const Landscape>(f));
  for (int i = 0; i < 200; ++i) {
    const auto x = random_point(7, generator);
    EXPECT_NEAR(chain.in_double.see(x).loss, f.value(x), 1e-12);
    EXPECT_EQ(chain.in_double.gradient(x), f.gradient(x));
    EXPECT_NEAR(twin.in_double.see(x).loss, slow_twin.in_double.see(x).loss, 1e-12);
    EXPECT_NEAR(norm(sum(twin.in_double.gradient(x), slow_twin.in_double.gradient(x), -1)), 0, 1e-12);
    for (const double radius : {0.01, 0.1, 0.3})
      EXPECT_EQ(chain.has_kink_within(x, radius), f.has_kink_within(x, radius));
  }
}

/// The side of every kink that x is on, and the largest piece.
std::vector<int> sides_of(const Landscape& f, const Point& x) {
  std::vector<int> sides;
  for (const auto& kink : f.kinks) sides.push_back(kink.value(x) > 0 ? 1 : 0);
  if (!f.pieces.empty()) {
    const auto top = std::max_element(f.pieces.begin(), f.pieces.end(),
                                      [&](const auto& a, const auto& b) { return a.value(x) < b.value(x); });
    sides.push_back(static_cast<int>(top - f.pieces.begin()));
  }
  if (f.cell > 0)
    for (const double each : x) sides.push_back(static_cast<int>(std::nearbyint(each / f.cell)));
  return sides;
}

bool changes_side_within(const Landscape& f, const Point& x, double radius) {
  const auto here = sides_of(f, x);
  for (int i = 0; i < 720; ++i) {
    const double angle = i * std::acos(-1.0) / 360;
    if (sides_of(f, {x[0] + radius * std::cos(angle), x[1] + radius * std::sin(angle)}) != here) return true;
  }
  return false;
}

TEST(LandscapeFamilies, HavePointsWhoseTruthIsThatOfBruteForce) {
  constexpr double kRadius = 0.01;
  std::mt19937_64 generator(3);
  for (const auto& family : landscape_families(2)) {
    const auto f = make_landscape(family.name);
    for (int i = 0; i < 30; ++i) {
      const auto away = family.spot(Nearness::away, kRadius, generator);
      ASSERT_TRUE(away) << family.name;
      EXPECT_FALSE(away->terrain->has_kink_within(away->at, kRadius)) << family.name;
      EXPECT_FALSE(changes_side_within(f, away->at, kRadius)) << family.name;
      for (const auto nearness : {Nearness::one, Nearness::corner}) {
        const auto near = family.spot(nearness, kRadius, generator);
        EXPECT_TRUE(near->terrain->has_kink_within(near->at, kRadius)) << family.name;
        EXPECT_TRUE(changes_side_within(f, near->at, 1.02 * kRadius)) << family.name;
        EXPECT_FALSE(near->twin->has_kink_within(near->at, kRadius));
      }
    }
  }
}

TEST(LandscapeFamilies, HaveNoPointAwayFromStairsThatAreNarrowerThanTheRadius) {
  std::mt19937_64 generator(3);
  for (const auto& family : landscape_families(2))
    if (family.name == "staircase") {
      EXPECT_FALSE(family.spot(Nearness::away, 0.2, generator));
    }
}

/// The largest difference between the gradient and central differences.
double gradient_error(const Terrain& terrain, const Point& at) {
  const auto gradient = terrain.in_double.gradient(at);
  double worst = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto there = at, back = at;
    there[i] += 1e-6;
    back[i] -= 1e-6;
    const double slope = (terrain.in_double.see(there).loss - terrain.in_double.see(back).loss) / 2e-6;
    worst = std::max(worst, std::fabs(slope - gradient[i]));
  }
  return worst;
}

TEST(Terrains, HaveTheGradientsThatDifferencesHave) {
  std::mt19937_64 generator(4);
  for (const std::size_t dimensions : {2, 5})
    for (const auto& family : landscape_families(dimensions)) {
      const auto spot = family.spot(Nearness::away, 0.001, generator);
      ASSERT_TRUE(spot);
      EXPECT_LT(gradient_error(*spot->twin, spot->at), 1e-6) << family.name;
      if (family.name != "staircase") {
        EXPECT_LT(gradient_error(*spot->terrain, spot->at), 1e-6) << family.name;
      }
    }
  for (const auto activation : {Activation::softplus, Activation::relu}) {
    NetShape shape;
    shape.activation = activation;
    const auto spot = network_families(100).front().spot(Nearness::away, 0.001, generator);
    EXPECT_LT(gradient_error(net_terrain(shape, 9), spot->at), 1e-6);
  }
}

/// Which of the values that 2, 4 or 8 bits leave each weight of the two matrices is nearest to.
std::vector<long> cells_of(const NetShape& shape, const Point& w) {
  std::vector<long> cells;
  const auto h = shape.width;
  const auto take = [&](std::size_t begin, std::size_t count) {
    double largest = 0;
    for (std::size_t i = begin; i < begin + count; ++i) largest = std::max(largest, std::fabs(w[i]));
    const double top = shape.bits == 2 ? 1.5 : std::pow(2, shape.bits - 1) - 1;
    for (std::size_t i = begin; i < begin + count; ++i) {
      const auto cell = std::lrint(w[i] * top / (largest + 1e-5));
      cells.push_back(shape.bits == 2 ? std::min(cell, 1L) : cell);
    }
  };
  take(0, h * NetShape::kFeatures);
  take(h * NetShape::kFeatures + h, h * h);
  return cells;
}

TEST(Networks, ChangeTheirPieceExactlyWhereARoundingCellChanges) {
  std::mt19937_64 generator(5);
  for (const int bits : {8, 4, 2}) {
    NetShape shape;
    shape.bits = bits;
    const auto terrain = net_terrain(shape, 1);
    int changes = 0;
    for (int i = 0; i < 300; ++i) {
      const auto w = random_point(shape.size(), generator);
      const auto there = sum(w, random_point(shape.size(), generator), bits == 8 ? 2e-4 : 4e-3);
      const bool changed = cells_of(shape, w) != cells_of(shape, there);
      EXPECT_EQ(terrain.in_double.see(w).piece != terrain.in_double.see(there).piece, changed);
      changes += changed ? 1 : 0;
    }
    EXPECT_GT(changes, 30) << bits;
    EXPECT_LT(changes, 299) << bits;
  }
}

// Along a line, in small steps: a gradient that jumps has met a kink.
TEST(Networks, ChangeTheirPieceWhereTheGradientJumps) {
  NetShape shape;
  shape.activation = Activation::relu;
  const auto terrain = net_terrain(shape, 2);
  std::mt19937_64 generator(6);
  auto w = random_point(shape.size(), generator);
  const auto direction = random_point(shape.size(), generator);
  int kinks = 0;
  for (int i = 0; i < 12000; ++i) {
    const auto there = sum(w, direction, 1e-4);
    const double jump = norm(sum(terrain.in_double.gradient(there), terrain.in_double.gradient(w), -1));
    const bool changed = terrain.in_double.see(w).piece != terrain.in_double.see(there).piece;
    if (!changed) {
      EXPECT_LT(jump, 0.02) << i;
    }
    kinks += changed && jump > 0.02 ? 1 : 0;
    w = there;
  }
  EXPECT_GE(kinks, 5);
}

TEST(Networks, HaveAboutAsManyWeightsAsAsked) {
  for (const std::size_t dimensions : {100, 10'000, 1'000'000}) {
    NetShape shape;
    shape.width = NetShape::width_for(dimensions);
    EXPECT_NEAR(static_cast<double>(shape.size()), static_cast<double>(dimensions),
                0.05 * static_cast<double>(dimensions));
  }
}

// ---- looks ------------------------------------------------------------------------------------------------

TEST(Estimators, AreEveryPairThatGoesTogether) {
  const auto all = audited_estimators();
  EXPECT_EQ(all.size(), 10U);
  for (const auto& each : all) EXPECT_EQ(each.probes, each.directions == Directions::step ? 1 : 8);
}

class LookAlong : public ::testing::TestWithParam<Directions> {};
INSTANTIATE_TEST_SUITE_P(Lab, LookAlong,
                         ::testing::Values(Directions::sphere, Directions::per_tensor, Directions::rademacher,
                                           Directions::step),
                         [](const auto& each) { return to_string(each.param); });

TEST_P(LookAlong, SeesWhatTheOptimizerSees) {
  const auto f = std::make_shared<const Landscape>(make_landscape("lasso", 6));
  std::mt19937_64 generator(7);
  const auto at = random_point(6, generator);
  const auto look = look_from(terrain_of(f), at, {GetParam(), 0.1, 0.03, 4, 11, 1});
  auto a = torch::tensor(Point(at.begin(), at.begin() + 3), torch::kDouble).requires_grad_();
  auto b = torch::tensor(Point(at.begin() + 3, at.end()), torch::kDouble).requires_grad_();
  SAdam optimizer({a, b}, SAdamOptions(0.03)
                              .statistic(Statistic::residual)
                              .directions(GetParam())
                              .radius(0.1)
                              .probes(GetParam() == Directions::step ? 1 : 4)
                              .seed(11)
                              .weight_decay(0));
  optimizer.step([&] { return f->loss(torch::cat({a, b})); });
  const auto& seen = optimizer.summary();
  ASSERT_EQ(look.differences.size(), seen.differences.size());
  for (std::size_t i = 0; i < look.differences.size(); ++i) {
    EXPECT_NEAR(look.differences[i], seen.differences[i], 1e-9) << i;
    EXPECT_NEAR(look.slopes[i], seen.slopes[i], 1e-9) << i;
  }
}

TEST(Looks, SeparateAKinkFromALineByTheResidualWithoutFail) {
  std::mt19937_64 generator(8);
  const auto families = landscape_families(2);
  const auto& chain = families.back();
  const Estimator residual{Directions::sphere, Statistic::residual, 8};
  std::vector<double> kinked, linear;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto aim = Aim{Directions::sphere, 0.01, 1e-3, 8, i, 1};
    const auto beside = chain.spot(Nearness::corner, 0.01, generator);
    kinked.push_back(lgi_of(residual, look_from(*beside->terrain, beside->at, aim)));
    const auto away = chain.spot(Nearness::away, 0.01, generator);
    linear.push_back(lgi_of(residual, look_from(*away->terrain, away->at, aim)));
    EXPECT_LT(linear.back(), 1e-20);
  }
  EXPECT_EQ(area_under_roc(kinked, linear).value, 1);
}

TEST(Looks, FollowTheLearningRateAlongTheStepOnly) {
  std::mt19937_64 generator(9);
  const auto spot = network_families(100).back().spot(Nearness::one, 0.01, generator);
  for (const auto& each : audited_estimators()) {
    const auto lgi_at = [&](double lr) {
      return lgi_of(each, look_from(*spot->terrain, spot->at, {each.directions, 0.01, lr, 8, 1, 1}));
    };
    EXPECT_EQ(lgi_at(1e-3) != lgi_at(1e-1), each.directions == Directions::step)
        << to_string(each.directions);
  }
}

TEST(Looks, HaveTheSameVarianceWhateverTheLossIsMultipliedByUntilEpsilonCounts) {
  std::mt19937_64 generator(10);
  const auto spot = landscape_families(2).front().spot(Nearness::away, 0.01, generator);
  const Estimator variance{Directions::sphere, Statistic::variance, 8};
  const auto lgi_at = [&](double scale) {
    return lgi_of(variance,
                  look_from(*spot->terrain, spot->at, {Directions::sphere, 0.01, 1e-3, 8, 1, scale}));
  };
  EXPECT_NEAR(lgi_at(1), lgi_at(1000), 1e-5);
  EXPECT_LT(lgi_at(1e-6), 0.1 * lgi_at(1));
}

TEST(Looks, FromANetworkAreNearlyTheSameInFloat) {
  std::mt19937_64 generator(11);
  const auto spot = network_families(100).front().spot(Nearness::away, 0.01, generator);
  const Aim aim{Directions::sphere, 0.1, 1e-3, 8, 1, 1};
  const auto wide = look_from(*spot->terrain, spot->at, aim);
  const auto narrow = look_from(*spot->terrain, spot->at, aim, true);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(wide.differences[i], narrow.differences[i], 1e-4);
    EXPECT_NE(wide.differences[i], narrow.differences[i]);
  }
}

// ---- the whole --------------------------------------------------------------------------------------------

TEST(Audit, RefusesRadiiAndDimensionsThatMakeNoSense) {
  const auto refused = [](std::vector<double> radii, std::vector<std::size_t> dimensions) {
    AuditOptions options;
    options.radii = std::move(radii);
    options.dimensions = std::move(dimensions);
    return sadam::testing::refusal<UsageError>([&] { run_audit(options); });
  };
  using sadam::testing::says;
  EXPECT_TRUE(says(refused({0, 0.1}, {2}), "above 0"));
  EXPECT_TRUE(says(refused({0.1, 0.01}, {2}), "ascend"));
  EXPECT_TRUE(says(refused({0.1}, {1}), "2 dimensions or more"));
  EXPECT_TRUE(says(refused({0.1}, {1'000'000'000'000}), "memory"));
}

TEST(Audit, FindsTheResidualBetterThanTheVarianceAndTheRateInTheStepOnly) {
  AuditOptions options;
  options.quick = true;
  options.dimensions = {2, 60};
  options.radii = {0.01};
  const auto audit = run_audit(options);
  EXPECT_EQ(audit.radius, 0.01);
  const auto lines = lines_of(audit);
  ASSERT_EQ(lines.size(), 10U);
  const auto line_of = [&](Directions directions, Statistic statistic) {
    return *std::find_if(lines.begin(), lines.end(), [&](const AuditLine& each) {
      return each.estimator.directions == directions && each.estimator.statistic == statistic;
    });
  };
  const auto variance = line_of(Directions::sphere, Statistic::variance);
  const auto residual = line_of(Directions::sphere, Statistic::residual);
  const auto step = line_of(Directions::step, Statistic::residual);
  EXPECT_GT(residual.landscapes->low, variance.landscapes->high);
  EXPECT_GT(residual.networks->low, 0.8);
  EXPECT_EQ(line_of(Directions::sphere, Statistic::unbiased_variance).networks->value,
            variance.networks->value)
      << "they order points alike";
  EXPECT_EQ(variance.learning_rate, 0);
  EXPECT_GT(step.learning_rate, 0.01);
  EXPECT_GT(variance.loss_scale, 0.1);
  EXPECT_LT(step.loss_scale, 0.01);
}

}  // namespace
}  // namespace sadam::lab
