#include "train/schedule.h"

#include <gtest/gtest.h>

#include "support/refusal.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;

constexpr RunLength kLength{10, 4};  // 40 steps

ScheduleRecipe recipe_named(const char* name) {
  ScheduleRecipe schedule;
  schedule.name = name;
  return schedule;
}

TEST(Schedule, ConstantStaysAtOne) {
  for (const std::int64_t step : {0, 1, 39})
    EXPECT_EQ(schedule_factor(recipe_named("constant"), step, kLength), 1);
}

TEST(Schedule, CosineFallsFromOneToItsFloorWithTheLastStep) {
  auto schedule = recipe_named("cosine");
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 0, kLength), 1);
  EXPECT_NEAR(schedule_factor(schedule, 39, kLength), 0, 1e-15);
  EXPECT_NEAR(schedule_factor(schedule, 13, kLength), 0.75, 1e-12);  // cos(π/3) = 1/2
  schedule.floor = 0.1;
  EXPECT_NEAR(schedule_factor(schedule, 39, kLength), 0.1, 1e-15);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 0, kLength), 1);
}

TEST(Schedule, StepDropsEverySoManyEpochs) {
  auto schedule = recipe_named("step");
  schedule.every = 2;
  schedule.factor = 0.5;
  EXPECT_EQ(schedule_factor(schedule, 19, kLength), 1);
  EXPECT_EQ(schedule_factor(schedule, 20, kLength), 0.5);
  EXPECT_EQ(schedule_factor(schedule, 39, kLength), 0.5);
}

TEST(Schedule, InversePowerIsOneOverTheRootByDefault) {
  const auto schedule = recipe_named("inverse_power");
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 0, kLength), 1);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 3, kLength), 0.5);
}

TEST(Schedule, WarmUpRisesLinearlyAndTheScheduleBeginsAfterIt) {
  auto schedule = recipe_named("cosine");
  schedule.warmup = 4;
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 0, kLength), 0.25);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 3, kLength), 1);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 4, kLength), 1);
  EXPECT_NEAR(schedule_factor(schedule, 39, kLength), 0, 1e-15);
}

TEST(Schedule, AWarmUpBeyondTheRunIsASentence) {
  auto schedule = recipe_named("constant");
  schedule.warmup = kLength.steps();
  EXPECT_EQ(warmup_beyond_the_run(schedule, kLength), "");
  schedule.warmup = 100 * kLength.steps();
  EXPECT_EQ(warmup_beyond_the_run(schedule, kLength),
            "schedule.warmup is 4000 steps and the whole run has 40: the learning rate comes to 0.01 of "
            "optimizer.lr and no further.");
}

TEST(Schedule, OfNoSuchNameIsRefusedAlsoWhileItWarmsUp) {
  auto schedule = recipe_named("cosinus");
  schedule.warmup = 4;
  for (const std::int64_t step : {0, 20})
    EXPECT_EQ(refusal([&] { schedule_factor(schedule, step, kLength); }),
              "'cosinus' is no value of 'schedule.name': use constant, cosine, step or inverse_power.");
}

TEST(Control, OfNoSuchNameIsRefused) {
  Recipe recipe;
  EXPECT_TRUE(brakes_of_control(recipe).empty());
  recipe.control.kind = "constant";
  recipe.control.brake = 0.25;
  EXPECT_EQ(brakes_of_control(recipe), std::vector<double>{0.25});
  recipe.control.kind = "mached";
  const std::string sentence =
      "'mached' is no value of 'control.kind': use none, constant, matched, shuffled or replayed.";
  EXPECT_EQ(refusal([&] { brakes_of_control(recipe); }), sentence);
  EXPECT_EQ(refusal([&] { settle_control(recipe); }), sentence);
}

}  // namespace
}  // namespace sadam::train
