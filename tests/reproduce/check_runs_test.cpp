// What is wrong with a run of a table is said before the first is trained.
#include "reproduce/execute.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/usage_error.h"
#include "support/fake_runs.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace sadam::reproduce {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;

// A good row, and one with these changes, in line 14.
Plan plan_with(const std::string& changes, const Request& request = {}) {
  return make_plan(read_table("[data]\n"
                              "root = 'no/such/root'\n"
                              "[table]\n"
                              "title = 'small'\n"
                              "seeds = [1, 2]\n"
                              "[[table.column]]\n"
                              "key = 'c'\n"
                              "title = 'built-in data'\n"
                              "[[table.row]]\n"
                              "key = 'good'\n"
                              "title = 'good'\n"
                              "[[table.row]]\n"
                              "key = 'x'\n"
                              "set = [" +
                                  changes + "]\ntitle = 'X'\n",
                              "mine", "mine.toml"),
                   request);
}

template <class Exception = UsageError>
std::string refused(const std::string& changes, const Request& request = {}) {
  return refusal<Exception>([&] { check_runs(plan_with(changes, request)); });
}

TEST(CheckRuns, NamesFileLineAndCell) {
  EXPECT_EQ(refused("\"data.name = 'cifr10'\""),
            "mine.toml:14, c/x: there is no data set 'cifr10'; did you mean 'cifar10'?");
}

TEST(CheckRuns, AReplayedControlNeedsASecondSeed) {
  Request request;
  request.controls = {Control::replayed};
  EXPECT_NO_THROW(check_runs(plan_with("", request)));
  request.seeds = {1};
  EXPECT_TRUE(says(refused("", request), "name two or more (--seeds)"));
}

// With another list of seeds it would have the brakes of another run.
TEST(CheckRuns, AReplayedControlKeepsTheSeedWhoseBrakesItHas) {
  const TemporaryFolder folder;
  Request request;
  request.controls = {Control::replayed};
  request.root = folder / "runs";
  for (const auto& run : plan_with("", request).runs)
    sadam::testing::write_run({run.folder}, run.recipe, {0.1});
  EXPECT_NO_THROW(check_same_recipes(plan_with("", request), Purpose::train));
  request.seeds = {1, 2, 3};
  EXPECT_TRUE(says(refusal<UsageError>([&] { check_same_recipes(plan_with("", request), Purpose::train); }),
                   "seed-2 has the brakes of seed-1, and with these seeds it would have those of seed-3"));
  EXPECT_NO_THROW(check_same_recipes(plan_with("", request), Purpose::show));
}

TEST(CheckRuns, ALastBatchThatIsTooSmallForTheNetworkIsRefused) {
  const std::string resnet = "\"model.name = 'resnet18'\", 'train.batch = 4', ";
  EXPECT_TRUE(says(refused(resnet + "'data.train_images = 61'"),
                   "mine.toml:14, c/x: 61 images in batches of 4 leave one alone"));
  EXPECT_NO_THROW(check_runs(plan_with(resnet + "'data.train_images = 62'")));
  EXPECT_NO_THROW(check_runs(plan_with(resnet + "'data.train_images = 61', 'data.pixels = 64'")));
}

TEST(CheckRuns, MoreImagesThanANamedSetHasAreRefused) {
  EXPECT_EQ(refused("'data.train_images = 50001'"),
            "mine.toml:14, c/x: data.train_images is 50001, and synthetic10 has 50000 training images: ask "
            "for fewer, or 0 for all.");
  EXPECT_TRUE(says(refused("'data.test_images = 10001'"), "synthetic10 has 10000 test images"));
  EXPECT_NO_THROW(check_runs(plan_with("'data.train_images = 50000', 'data.test_images = 10000'")));
  // What a folder has is not known.
  EXPECT_NO_THROW(check_runs(plan_with("\"data.name = 'folder:none'\", 'data.train_images = 99999'")));
}

TEST(CheckRuns, ImagesThatTheNetworkDoesNotKnowAreRefused) {
  EXPECT_TRUE(
      says(refused("'data.pixels = 33'"), "mine.toml:14, c/x: QATNet does not know images of 33 pixels"));
  EXPECT_NO_THROW(check_runs(plan_with("'data.pixels = 64'")));
  EXPECT_NO_THROW(check_runs(plan_with("'data.pixels = 33', \"model.name = 'resnet18'\"")));
}

TEST(CheckRuns, DevicesThatAreNotHereAreRefused) {
  EXPECT_EQ(refused("\"train.device = 'gpu'\""),
            "mine.toml:14, c/x: there is no device 'gpu': use cpu, cuda or cuda:N.");
  const auto missing = refused<Error>("\"train.device = 'cuda:99'\"");
  EXPECT_EQ(missing.find("mine.toml:14, c/x: "), 0U) << missing;
  EXPECT_TRUE(says(missing, "--device cpu"));
}

TEST(CheckRuns, ARowThatTakesTheBrakesOfARunThatIsNotThereIsRefused) {
  EXPECT_TRUE(says(refused<Error>("\"optimizer.name = 'adamw'\", \"control.kind = 'matched'\", "
                                  "\"control.run = 'no/such/run'\""),
                   "mine.toml:14, c/x: control.run: there is no run in no/such/run"));
  EXPECT_NO_THROW(
      check_runs(plan_with("\"optimizer.name = 'adamw'\", \"control.kind = 'matched'\", "
                           "\"control.run = 'runs/mine/c/good/seed-1'\"")));
}

TEST(CheckRuns, WhatTheCommandLineAsksForIsNotBlamedOnTheTable) {
  Request request;
  request.set = {"data.train_images=50001"};
  EXPECT_EQ(refused("", request).find("data.train_images is 50001, and"), 0U);
}

TEST(CheckRuns, EveryBuiltInTablePasses) {
  for (const auto& built_in : built_in_recipes())
    for (const bool quick : {false, true}) {
      if (built_in.name == "curves") continue;
      Request request;
      request.quick = quick;
      EXPECT_NO_THROW(check_runs(make_plan(find_table(std::string(built_in.name)), request)));
    }
}

std::map<std::size_t, std::string> missing_with(const std::string& changes, const Request& request = {}) {
  const auto plan = plan_with(changes, request);
  std::vector<const PlannedRun*> runs;
  for (const auto& run : plan.runs) runs.push_back(&run);
  return missing_columns(plan, runs);
}

TEST(MissingColumns, ARowThatAloneLacksItsFilesIsNamed) {
  const auto sentence = [](const std::string& changes) {
    return refusal<Error>([&] { missing_with(changes); });
  };
  EXPECT_TRUE(
      says(sentence("\"model.weights = 'none.pth'\""), "mine.toml:14, c/x: none.pth is neither here"));
  EXPECT_TRUE(
      says(sentence("\"data.name = 'cifar10'\""), "mine.toml:14, c/x: there is no folder no/such/root"));
  EXPECT_TRUE(says(sentence("\"data.name = 'folder:none'\""), "mine.toml:14, c/x: "));
}

TEST(MissingColumns, AColumnThatLacksThemAltogetherIsLeftOut) {
  EXPECT_TRUE(missing_with("").empty());
  Request request;
  request.set = {"data.name=cifar10"};
  const auto missing = missing_with("", request);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_TRUE(says(missing.at(0), "sadam data fetch cifar10"));
}

}  // namespace
}  // namespace sadam::reproduce
