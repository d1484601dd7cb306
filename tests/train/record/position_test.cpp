#include "train/record/position.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/support.h"
#include "train/record/envelope.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::TemporaryFolder;
using sadam::testing::write_text;

Position some_position() {
  Position position;
  position.epoch = 3;
  position.run = {40, 5, 30, 4, 7};
  position.this_epoch = {10, 1, 9, 2, 3};
  position.loss_sum = 0.1 + 0.2;
  position.finite_losses = 9;
  position.lgi_sum = 1e-300;
  position.train_seconds = 12.5;
  position.events = {12345678901, 0xfedcba98U};
  position.tensorboard = {7, 0xffffffffU};
  position.recipe = "title = \"\u00fc\"\n";
  return position;
}

TEST(Position, ComesBackToTheBit) {
  const auto position = some_position();
  const auto found = from_meta(to_meta(position));
  EXPECT_EQ(found.epoch, 3);
  EXPECT_EQ(found.step(), 40);
  EXPECT_EQ(found.run, position.run);
  EXPECT_EQ(found.this_epoch, position.this_epoch);
  EXPECT_EQ(found.loss_sum, position.loss_sum);
  EXPECT_EQ(found.finite_losses, 9);
  EXPECT_EQ(found.lgi_sum, 1e-300);
  EXPECT_EQ(found.train_seconds, 12.5);
  EXPECT_EQ(found.events, position.events);
  EXPECT_EQ(found.tensorboard, position.tensorboard);
  EXPECT_EQ(found.recipe, position.recipe);
}

TEST(Position, ASumThatIsNotFiniteStaysSo) {
  Position position;
  position.lgi_sum = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(std::isfinite(from_meta(to_meta(position)).lgi_sum));
}

TEST(Position, WhatIsMissingIsNamed) {
  EXPECT_TRUE(says(refusal([] { from_meta("{}"); }), "'epoch' is missing"));
  EXPECT_TRUE(says(refusal([] { from_meta("[1"); }), "another version of sadam"));
  auto negative = to_meta(some_position());
  const std::string bytes = "\"tensorboard_bytes\":";
  negative.insert(negative.find(bytes) + bytes.size(), "-");
  EXPECT_TRUE(says(refusal([&] { from_meta(negative); }), "'tensorboard_bytes' is no integer"));
}

TEST(Position, IsReadFromTheCheckpointOfARunWithoutItsWeights) {
  const TemporaryFolder folder;
  const RunPaths paths{folder.path()};
  EXPECT_FALSE(saved_position(paths));
  base::write_file_atomically(paths.checkpoint(), seal(to_meta(some_position()), {}));
  EXPECT_EQ(saved_position(paths).value().epoch, 3);
  write_text(paths.checkpoint(), "SADAMRUN");
  EXPECT_FALSE(saved_position(paths));
}

}  // namespace
}  // namespace sadam::train
