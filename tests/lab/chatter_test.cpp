#include "train/chatter.h"

#include <sadam/s_adam.h>
#include <torch/serialize/archive.h>

#include <cmath>
#include <sstream>

#include "lab/landscape.h"
#include "support/models.h"

namespace sadam::lab {
namespace {

using train::Chattering;
using train::ChatterMeter;

at::Tensor at_point(const Point& point) { return torch::tensor(point, torch::kDouble); }

/// The windows of a path through these points.
std::vector<Chattering> windows_of(const std::vector<Point>& path, std::int64_t window) {
  const auto w = at_point(path.front());
  ChatterMeter meter({w}, window);
  for (std::size_t i = 1; i < path.size(); ++i) {
    w.copy_(at_point(path[i]));
    meter.step();
  }
  return meter.take();
}

/// The plain definition.
Chattering plain_chattering(const std::vector<Point>& path) {
  const auto coordinates = path.front().size();
  const auto distance = [&](const Point& from, const Point& to) {
    double squares = 0;
    for (std::size_t i = 0; i < coordinates; ++i) squares += (to[i] - from[i]) * (to[i] - from[i]);
    return std::sqrt(squares);
  };
  double length = 0;
  std::size_t flips = 0;
  for (std::size_t step = 1; step < path.size(); ++step) {
    length += distance(path[step - 1], path[step]);
    for (std::size_t i = 0; step > 1 && i < coordinates; ++i) {
      const double before = path[step - 1][i] - path[step - 2][i];
      const double now = path[step][i] - path[step - 1][i];
      flips += (before < 0 && now > 0) || (before > 0 && now < 0);
    }
  }
  return {1 - distance(path.front(), path.back()) / length,
          static_cast<double>(flips) / static_cast<double>((path.size() - 2) * coordinates)};
}

/// The one window of a path, as the meter sees it, which must be what the plain definition says.
std::vector<Chattering> window_of(const std::vector<Point>& path) {
  auto windows = windows_of(path, static_cast<std::int64_t>(path.size()) - 1);
  const auto plain = plain_chattering(path);
  EXPECT_NEAR(windows.at(0).chatter, plain.chatter, 1e-15);
  EXPECT_EQ(windows.at(0).flips, plain.flips);
  return windows;
}

TEST(Chatter, IsNothingOnAStraightLine) {
  const auto windows = window_of({{0, 0}, {1, 2}, {2, 4}, {5, 10}, {6, 12}});
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_NEAR(windows[0].chatter, 0, 1e-15);
  EXPECT_EQ(windows[0].flips, 0);
}

TEST(Chatter, IsWholeWhereThePathEndsWhereItBegan) {
  const auto windows = window_of({{0, 0}, {1, 1}, {0, 0}, {1, 1}, {0, 0}});
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].chatter, 1);
  EXPECT_EQ(windows[0].flips, 1);
}

// A right angle: √2 of a path of length 2; of two coordinates neither turns back.
TEST(Chatter, OfAPathInTheOpenIsItsDetour) {
  const auto windows = window_of({{0, 0}, {1, 0}, {1, 1}});
  EXPECT_NEAR(windows.at(0).chatter, 1 - std::sqrt(2.0) / 2, 1e-15);
  EXPECT_EQ(windows.at(0).flips, 0);
}

TEST(Chatter, CountsTheCoordinatesThatTurnBack) {
  // x turns back in every step, y never. The second window compares with the last step of the first.
  const auto windows = windows_of({{0, 0}, {1, 1}, {0, 2}, {1, 3}, {0, 4}}, 2);
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].flips, 0.5);
  EXPECT_EQ(windows[1].flips, 0.5);
  EXPECT_NEAR(windows[1].chatter, 1 - 2 / std::sqrt(8.0), 1e-15);
}

TEST(Chatter, OfWhatDoesNotMoveIsNotANumber) {
  const auto windows = windows_of({{1, 1}, {1, 1}, {1, 1}}, 2);
  EXPECT_TRUE(std::isnan(windows.at(0).chatter));
  EXPECT_TRUE(std::isnan(plain_chattering(std::vector<Point>(3, {1, 1})).chatter));
  EXPECT_EQ(windows.at(0).flips, 0);
}

TEST(Chatter, SeveralTensorsAreOnePath) {
  const auto a = torch::zeros({2, 2});
  const auto b = torch::zeros({3}, torch::kFloat);
  ChatterMeter meter({a.t(), b}, 2);
  a.add_(3);
  meter.step();
  b.add_(4);
  meter.step();
  const double first = 6;  // √(4·9)
  const double second = std::sqrt(3 * 16.0);
  EXPECT_NEAR(meter.take().at(0).chatter, 1 - std::hypot(first, second) / (first + second), 1e-6);
}

TEST(Chatter, GoesOnAfterASaveAsIfThereHadBeenNone) {
  const std::vector<Point> path = {{0, 0}, {1, 1}, {0, 2}, {2, 1}, {1, 4}, {0, 0}, {3, 3}};
  const auto whole = windows_of(path, 3);
  for (std::size_t stop = 0; stop < path.size(); ++stop) {
    const auto w = at_point(path.front());
    ChatterMeter before({w}, 3);
    std::vector<Chattering> windows;
    const auto take = [&](ChatterMeter& meter) {
      for (const auto& each : meter.take()) windows.push_back(each);
    };
    for (std::size_t i = 1; i <= stop; ++i) {
      w.copy_(at_point(path[i]));
      before.step();
    }
    take(before);
    std::stringstream file;
    torch::serialize::OutputArchive out;
    before.save(out);
    out.save_to(file);
    torch::serialize::InputArchive in;
    in.load_from(file);
    ChatterMeter after({w}, 3);
    after.load(in);
    for (std::size_t i = stop + 1; i < path.size(); ++i) {
      w.copy_(at_point(path[i]));
      after.step();
    }
    take(after);
    ASSERT_EQ(windows.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(windows[i].chatter, whole[i].chatter) << stop;
      EXPECT_EQ(windows[i].flips, whole[i].flips) << stop;
    }
  }
}

// The claim about Adam, at a kink whose place is known: with a constant rate it goes back and forth there,
// and with a rate that falls to nothing it still does, in ever smaller steps.
TEST(Chatter, OfAdamIsLargeAtAKinkAndSmallOnTheWayThere) {
  const auto landscape = make_landscape("chain", 4);
  auto w = at_point(landscape.start).set_requires_grad(true);
  AdamW optimizer(std::vector<torch::Tensor>{w}, AdamWOptions(0.05).weight_decay(0));
  ChatterMeter meter({w}, 20);
  for (int i = 0; i < 400; ++i) {
    optimizer.step([&] { return landscape.loss(w); });
    meter.step();
  }
  const auto windows = meter.take();
  EXPECT_LT(windows.front().chatter, 0.1);
  EXPECT_GT(windows.back().chatter, 0.5);
}

}  // namespace
}  // namespace sadam::lab
