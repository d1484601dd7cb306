#include "lab/landscape.h"

#include <gtest/gtest.h>
#include <sadam/sadam.h>

#include <cmath>
#include <random>

#include "support/refusal.h"

namespace sadam::lab {
namespace {

using sadam::testing::says;

// Points around the start and the minimiser, the same in every run.
std::vector<Point> some_points(const Landscape& f, std::size_t count) {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) {
    auto x = i % 2 == 0 ? f.start : *f.minimiser;
    for (auto& each : x) each += normal(generator);
    points.push_back(x);
  }
  return points;
}

Point direction(std::size_t dimensions, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  Point v(dimensions);
  for (auto& each : v) each = normal(generator);
  return sum(Point(dimensions, 0), v, 1 / norm(v));
}

class EveryLandscape : public ::testing::TestWithParam<std::string> {
 protected:
  Landscape f = make_landscape(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Lab, EveryLandscape, ::testing::ValuesIn(landscape_names()),
                         [](const auto& each) { return each.param; });

TEST_P(EveryLandscape, HasTheGradientThatDifferencesHave) {
  for (const auto& x : some_points(f, 40)) {
    if (f.has_kink_within(x, 1e-3)) continue;
    const auto slope = f.gradient(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto there = x, back = x;
      there[i] += 1e-5;
      back[i] -= 1e-5;
      const double expected = f.cell > 0 ? 0 : (f.value(there) - f.value(back)) / 2e-5;
      if (f.cell > 0)
        EXPECT_EQ(f.value(there), f.value(back)) << "flat between jumps";
      else
        EXPECT_NEAR(slope[i], expected, 1e-6 * (1 + std::fabs(expected)));
    }
  }
}

TEST_P(EveryLandscape, IsTheSameForTorch) {
  for (const auto& x : some_points(f, 20)) {
    auto w = torch::tensor(x, torch::kDouble).requires_grad_();
    const auto loss = f.loss(w);
    loss.backward();
    EXPECT_NEAR(loss.item<double>(), f.value(x), 1e-12 * (1 + std::fabs(f.value(x))));
    const auto slope = f.gradient(x);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(w.grad()[static_cast<std::int64_t>(i)].item<double>(), slope[i], 1e-11);
  }
}

TEST(Staircase, HasTheGradientOfTheQuadraticAtTheNearestStep) {
  const auto staircase = make_landscape("staircase", 6);
  const auto quadratic = make_landscape("quadratic", 6);
  for (const auto& x : some_points(staircase, 20)) {
    auto rounded = x;
    for (auto& each : rounded) each = std::nearbyint(each * 4) / 4;
    EXPECT_EQ(staircase.gradient(x), quadratic.gradient(rounded));
    EXPECT_EQ(staircase.value(x), quadratic.value(rounded));
  }
}

// For these functions the slope in a direction is the support function of ∂f: the largest ⟨g, v⟩ over it.
TEST_P(EveryLandscape, HasTheSlopesThatItsSubdifferentialSays) {
  if (f.cell > 0) GTEST_SKIP() << "it jumps";
  auto points = some_points(f, 6);
  points.push_back(*f.minimiser);
  if (f.name == "kinks") points.push_back({1, -0.3});
  if (f.name == "valley") points.push_back({-0.5, 0.25});
  for (const auto& x : points) {
    const auto corners = f.subdifferential(x);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const auto v = direction(x.size(), seed);
      double support = -INFINITY;
      for (const auto& corner : corners) support = std::max(support, dot(corner, v));
      const double t = 1e-7;
      EXPECT_NEAR((f.value(sum(x, v, t)) - f.value(x)) / t, support, 1e-5 * (1 + std::fabs(support)));
    }
  }
}

TEST_P(EveryLandscape, IsLowestAtItsMinimiser) {
  EXPECT_NEAR(f.value(*f.minimiser), f.lowest, 1e-12);
  for (const auto& x : some_points(f, 40)) EXPECT_GE(f.value(x), f.lowest);
  if (f.cell == 0) {
    EXPECT_LT(f.stationarity(*f.minimiser), 1e-9);
  }
}

TEST_P(EveryLandscape, IsStationaryNearItsMinimiserAndNotElsewhere) {
  if (f.cell > 0) GTEST_SKIP() << "it jumps";
  const auto near = sum(*f.minimiser, direction(f.start.size(), 3), 0.005);
  EXPECT_TRUE(f.is_stationary(near, 0.02, 0.06));
  EXPECT_FALSE(f.is_stationary(f.start, 0.02, 0.06));
}

TEST_P(EveryLandscape, IsGoneDownByEveryOptimizer) {
  const auto end = [&](const auto& make) {
    auto w = torch::tensor(f.start, torch::kDouble).requires_grad_();
    auto optimizer = make(w);
    for (int i = 0; i < 600; ++i) optimizer.step([&] { return f.loss(w); });
    const auto* data = w.template data_ptr<double>();
    return f.value(Point(data, data + w.numel())) - f.lowest;
  };
  // In the valley every step that is not along it hits a wall; the logistic one is flat.
  const double share = f.name == "valley" ? 0.65 : f.name == "logistic" ? 0.3 : 0.1;
  const double most = share * (f.value(f.start) - f.lowest);
  const auto tensors = [](const torch::Tensor& w) { return std::vector<torch::Tensor>{w}; };
  EXPECT_LT(end([&](auto& w) { return SAdam(tensors(w), SAdamOptions(0.02).weight_decay(0)); }), most);
  EXPECT_LT(end([&](auto& w) { return SAdam(tensors(w), SAdamOptions::reference(0.02).weight_decay(0)); }),
            most);
  EXPECT_LT(end([&](auto& w) { return AdamW(tensors(w), AdamWOptions(0.02).weight_decay(0)); }), most);
  EXPECT_LT(end([&](auto& w) { return ProxSGD(tensors(w), ProxSGDOptions(1e-3).l1(0)); }), most);
}

TEST(Landscape, KnowsWhereItsKinksAre) {
  const auto f = make_landscape("kinks");
  EXPECT_TRUE(f.has_kink_within({1.05, 3}, 0.1));
  EXPECT_FALSE(f.has_kink_within({1.05, 3}, 0.01));
  EXPECT_FALSE(make_landscape("quadratic").has_kink_within({0, 0}, 100));
  const auto stairs = make_landscape("staircase");
  EXPECT_TRUE(stairs.has_kink_within({0.12, 0.5}, 0.01)) << "it jumps at 1/8";
  EXPECT_FALSE(stairs.has_kink_within({0, 0.5}, 0.1));
}

TEST(Landscape, HasTheSubdifferentialOfThePaperAtTheKink) {
  const auto f = make_landscape("kinks");
  EXPECT_EQ(corners_in_plane(f.subdifferential({1, 1})), (Polytope{{0, 0}, {2, 0}, {2, 2}, {0, 2}}));
  EXPECT_NEAR(diameter(f.subdifferential({1, 1})), std::sqrt(8), 1e-15);
  EXPECT_EQ(f.stationarity({1, 1}), 0);
  EXPECT_NEAR(f.stationarity({1, 3}), 4, 1e-12);
  EXPECT_EQ(diameter(f.subdifferential({0.5, 3})), 0);
}

TEST(Landscape, OfManyDimensionsIsStationaryNearItsMinimiser) {
  for (const auto& name : {"lasso", "max_affine", "chain"}) {
    const auto f = make_landscape(name, 9);
    const auto near = sum(*f.minimiser, direction(9, 5), 0.0045);
    EXPECT_TRUE(f.is_stationary(near, 0.02, 0.05)) << name;
    EXPECT_FALSE(f.is_stationary(f.start, 0.02, 0.05)) << name;
  }
  const auto chain = make_landscape("chain", 20);
  EXPECT_NO_THROW(chain.is_stationary(*chain.minimiser, 0.02, 0.05))
      << "too many kinks meet at the point itself";
}

TEST(Landscape, OfManyDimensionsIsTheSameKind) {
  for (const auto& name : {"lasso", "max_affine", "quadratic", "logistic"}) {
    const auto f = make_landscape(name, 9);
    EXPECT_EQ(f.start.size(), 9U);
    EXPECT_LT(f.stationarity(*f.minimiser), 1e-8) << name;
  }
}

TEST(Landscape, RefusesWhatItIsNot) {
  const auto refused = [](const auto& what) { return sadam::testing::refusal<std::exception>(what); };
  EXPECT_TRUE(says(refused([] { make_landscape("kinx"); }), "kinks"));
  EXPECT_TRUE(says(refused([] { make_landscape("valley", 3); }), "2 dimensions"));
  EXPECT_TRUE(says(refused([] { make_landscape("lasso", 1); }), "2 or more"));
  EXPECT_TRUE(says(refused([] { make_landscape("staircase").subdifferential({0, 0}); }), "jumps"));
  const auto chain = make_landscape("chain", 20);
  EXPECT_TRUE(says(refused([&] { chain.subdifferential(*chain.minimiser); }), "too many"));
}

// ---- polytopes ----

TEST(Polytope, NearestPointMeetsTheConditionsOfTheBest) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 200; ++round) {
    const std::size_t dimensions = 1 + generator() % 6;
    Polytope points(1 + generator() % 12, Point(dimensions));
    const double shift = static_cast<double>(generator() % 3);
    for (auto& point : points)
      for (auto& each : point) each = normal(generator) + shift;
    const auto p = nearest_to_zero(points);
    // No point of the hull lies farther towards 0, and p lies in it: no plane parts them.
    for (const auto& point : points) EXPECT_GE(dot(p, point), dot(p, p) - 1e-10) << round;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto v = direction(dimensions, seed + 100);
      double support = -INFINITY;
      for (const auto& point : points) support = std::max(support, dot(point, v));
      EXPECT_LE(dot(p, v), support + 1e-10) << round;
    }
  }
}

TEST(Polytope, AroundZeroHasDistanceZero) {
  EXPECT_LT(distance_from_zero({{1e-8, 0}, {-1e-7, 1}, {-1e-7, -1}}), 1e-10);
  EXPECT_LT(distance_from_zero({{1, 0}, {-1, 1}, {-1, -1}}), 1e-12);
  EXPECT_NEAR(distance_from_zero({{1, -5}, {1, 5}}), 1, 1e-12);
  EXPECT_EQ(distance_from_zero({{3, 4}}), 5);
}

TEST(Polytope, CornersGoAround) {
  EXPECT_EQ(corners_in_plane({{0, 0}, {1, 0}, {0.5, 0.5}, {1, 1}, {0, 1}, {0.5, 0}}),
            (Polytope{{0, 0}, {1, 0}, {1, 1}, {0, 1}}));
}

}  // namespace
}  // namespace sadam::lab
