// `sadam reproduce` and what it needs from outside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "cli/program.h"
#include "reproduce/table_recipe.h"
#include "support/temporary_folder.h"
#include "train/record/run_folder.h"

namespace sadam::cli {
namespace {

// How often a text has a part.
std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class Reproduce : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(path("small.toml")) << small_table(); }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  bool is_done(const std::string& row) const {
    return std::filesystem::exists(path("runs/small/c/" + row + "/seed-1/checkpoint.pt"));
  }
  Ended reproduce(const Arguments& more = {}) const {
    Arguments arguments = {"reproduce", path("small.toml"), "--root", path("runs")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(Reproduce, ItsHelpListsEveryTable) {
  const auto help = run_program({"reproduce", "--help"}).out;
  for (const auto& recipe : reproduce::built_in_recipes())
    EXPECT_TRUE(says(help, fmt::format("\n  {} ", recipe.name)));
}

TEST_F(Reproduce, RunsThatAnotherProcessHasAreLeftToItAndNamed) {
  std::optional<train::RunFolder> held = train::RunFolder::create(path("runs/small/c/sadam/seed-1"));
  const auto first = reproduce();
  EXPECT_EQ(first.status, 0) << first.err;
  // What controls a run that is not finished has to wait, too.
  EXPECT_NE(first.err.find("Another process is working on what is still missing (c/sadam, seed 1; c/sadam "
                           "matched, seed 1; c/sadam shuffled, seed 1)"),
            std::string::npos)
      << first.err;
  EXPECT_TRUE(is_done("adamw"));
  EXPECT_TRUE(is_done("adamw.cosine"));
  EXPECT_FALSE(is_done("sadam"));
  EXPECT_FALSE(is_done("sadam.matched"));

  held.reset();
  const auto second = reproduce();
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(second.err.find("Another process"), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("5 runs, 2 of them done."), std::string::npos) << second.err;
  for (const char* row : {"sadam", "sadam.matched", "sadam.shuffled"}) EXPECT_TRUE(is_done(row)) << row;
}

TEST_F(Reproduce, ARunThatFailsIsNamedAndTheOthersGoOn) {
  ASSERT_EQ(reproduce({"--only", "sadam", "--no-controls"}).status, 0);
  damage_checkpoints(path("runs/small/c/sadam/seed-1"));
  const auto ended = reproduce();
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(says(ended.err, "c/sadam, seed 1 failed: "));
  EXPECT_EQ(times(ended.err, "Another process"), 0U) << ended.err;
  EXPECT_TRUE(is_done("adamw"));
  EXPECT_TRUE(says(ended.out, "AdamW"));
}

TEST_F(Reproduce, TwoProcessesShareATable) {
  const Arguments arguments = {"reproduce", path("small.toml"), "--root", path("runs"), "--quiet"};
  Background first(arguments);
  Background second(arguments);
  for (auto* process : {&first, &second}) {
    const auto ended = process->wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
  }
  const auto after = reproduce();
  EXPECT_NE(after.err.find("5 runs, 5 of them done."), std::string::npos) << after.err;
}

// tests/reproduce/check_runs_test.cpp has all that can be wrong.
TEST_F(Reproduce, ABadRowIsRefusedWithItsPlaceBeforeAnyIsTrained) {
  std::ofstream(path("small.toml"), std::ios::app)
      << "[[table.row]]\nkey = 'x'\ntitle = 'X'\nset = [\"data.name = 'cifr10'\"]\n";
  for (const Arguments& more : {Arguments{}, Arguments{"--plan"}}) {
    const auto ended = reproduce(more);
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, "sadam: " + path("small.toml") +
                             ":26, c/x: there is no data set 'cifr10'; did you mean 'cifar10'?\n");
  }
  EXPECT_FALSE(std::filesystem::exists(path("runs")));
}

TEST_F(Reproduce, TheDeviceIsCheckedBeforeDataAndEarlierRuns) {
  ASSERT_EQ(reproduce({"--only", "adamw"}).status, 0);
  for (const Arguments& arguments :
       {Arguments{"reproduce", "table1", "--root", path("runs"), "--set", "data.root=" + path("data")},
        Arguments{"reproduce", "curves", "--root", path("runs"), "--set", "data.root=" + path("data")},
        Arguments{"reproduce", path("small.toml"), "--root", path("runs")}}) {
    auto with_device = arguments;
    with_device.insert(with_device.end(), {"--device", "cuda:99"});
    const auto ended = run_program(with_device);
    EXPECT_EQ(ended.status, 1) << ended.err;
    EXPECT_TRUE(says(ended.err, "--device cpu"));
    EXPECT_EQ(ended.err.find("fetch"), std::string::npos) << ended.err;
    EXPECT_EQ(ended.err.find("--root"), std::string::npos) << ended.err;
    EXPECT_EQ(times(ended.err, "\n"), 1U) << ended.err;
  }
}

TEST_F(Reproduce, ShowNamesTheOptionsThatTheRunsWereMadeWith) {
  ASSERT_EQ(reproduce({"--only", "adamw", "--set", "data.train_images=32", "--set", "train.clip=2"}).status,
            0);
  const auto without = reproduce({"--only", "adamw", "--show"});
  EXPECT_EQ(without.status, 2);
  EXPECT_TRUE(says(without.err,
                   "repeat the options that it was made with (--set data.train_images=32 --set "
                   "train.clip=2.0)"));
  EXPECT_EQ(
      reproduce({"--only", "adamw", "--show", "--set", "data.train_images=32", "--set", "train.clip=2.0"})
          .status,
      0);
  // Training goes elsewhere.
  EXPECT_TRUE(says(reproduce({"--only", "adamw"}).err, "choose another --root, or remove it."));
}

TEST_F(Reproduce, WhyNothingCouldBeRunIsSaidOnce) {
  for (const char* table : {"table1", "curves"}) {
    const auto ended = run_program({"reproduce", table, "--root", path("runs"), "--only", "cifar100", "--set",
                                    "data.root=" + path("data")});
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(times(ended.err, "cifar-100-binary"), 1U) << ended.err;
  }
}

TEST_F(Reproduce, AColumnThatIsLeftOutIsNamedBeforeTheOthersAreTrained) {
  std::ofstream(path("small.toml"), std::ios::app)
      << "[[table.column]]\nkey = 'd'\ntitle = 'other data'\nset = [\"data.name = 'cifar10'\"]\n";
  const Arguments options = {"--only", "adamw", "--set", "data.root=" + path("data")};
  const auto first = reproduce(options);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_LT(first.err.find("other data is left out: "), first.err.find("[1/")) << first.err;
  EXPECT_TRUE(says(first.out, "other data is left out: "));
  // Another program gets the table, and the person beside it the reason.
  auto quiet = options;
  quiet.insert(quiet.end(), {"--quiet", "--csv"});
  const auto second = reproduce(quiet);
  EXPECT_EQ(second.status, 0);
  EXPECT_EQ(second.err.find("other data is left out: "), 0U) << second.err;
}

TEST_F(Reproduce, WeightsAreFoundBesideTheData) {
  const auto at_data = [&](const std::string& name) {
    return run_program({"eval", "--weights", name, "--set", "data.train_images=20", "--set",
                        "data.test_images=20", "--set", "data.root=" + path("data")});
  };
  ASSERT_EQ(reproduce({"--only", "adamw"}).status, 0);
  std::filesystem::create_directories(path("data"));
  ASSERT_EQ(run_program({"export", path("runs/small/c/adamw/seed-1"), path("data/own.safetensors")}).status,
            0);
  EXPECT_EQ(at_data("own.safetensors").status, 0);
  const auto missing = at_data("none.safetensors");
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(missing.err, "sadam: none.safetensors is neither here nor in " + path("data") +
                             ": give the path of the weights (model.weights, or --weights of eval).\n");
  // A path is taken at its word.
  EXPECT_NE(at_data("./own.safetensors").err.find("./own.safetensors is not there"), std::string::npos);
}

TEST_F(Reproduce, MissingWeightsOfThePapersNetworkCanBeFetched) {
  const auto ended =
      run_program({"reproduce", "table3", "--root", path("runs"), "--set", "data.root=" + path("data")});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find("'sadam data fetch resnet18 --root " + path("data") + "'"), std::string::npos)
      << ended.err;
}

TEST_F(Reproduce, QuietShowsTheTableAloneAndRecordedRunsGiveItWithoutTheirFolders) {
  const auto quiet = reproduce({"--quiet"});
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(quiet.err, "");
  EXPECT_TRUE(says(quiet.out, "built-in data"));
  EXPECT_TRUE(says(reproduce().err, "5 runs, 5 of them done."));
  ASSERT_EQ(
      run_program({"train", "--root", path("runs"), "--name", "other", "--quiet", "--set", "seed=9", "--set",
                   "train.epochs=1", "--set", "data.train_images=40", "--set", "data.test_images=40"})
          .status,
      0);
  std::ofstream(path("runs.csv")) << run_program({"runs", "--root", path("runs"), "--csv"}).out;
  for (const std::string style : {"--quiet", "--csv", "--json", "--markdown"}) {
    const auto shown = reproduce({"--show", style});
    std::filesystem::rename(path("runs"), path("away"));
    const auto recorded = reproduce({"--from-csv", path("runs.csv"), style});
    EXPECT_FALSE(std::filesystem::exists(path("runs")));
    std::filesystem::rename(path("away"), path("runs"));
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    EXPECT_EQ(recorded.out, shown.out);
  }
  const auto none = [&](const std::string& table) {
    return run_program({"reproduce", table, "--root", path("none"), "--from-csv", path("runs.csv")});
  };
  const auto figures = none("figures");
  EXPECT_EQ(figures.status, 2);
  EXPECT_TRUE(says(figures.err, "leave out"));
  const auto curves = none("curves");  // of full tables, whose runs these are not
  EXPECT_EQ(curves.status, 1);
  EXPECT_TRUE(says(curves.err, "there are no runs of table1"));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(Reproduce, MeansAndABaselineAreThoseOfTheRunsThatAreThere) {
  std::ofstream(path("small.toml"), std::ios::app)
      << "[[table.column]]\nkey = 'd'\ntitle = 'lower'\nset = ['optimizer.lr = 1e-4']\n"
         "[[table.mean]]\nkey = 'cd'\ntitle = 'mean of both'\ncolumns = ['c', 'd']\n";
  const auto made = reproduce({"--no-controls", "--seeds", "1,2", "--quiet"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(says(made.out, "mean of both; 2 seeds"));
  std::ofstream(path("runs.csv")) << run_program({"runs", "--root", path("runs"), "--csv"}).out;
  const auto recorded = reproduce({"--no-controls", "--from-csv", path("runs.csv")});
  EXPECT_EQ(recorded.out, made.out);
  EXPECT_TRUE(
      says(reproduce({"--no-controls", "--from-csv", path("runs.csv"), "--csv"}).out, "small,cd,adamw"));
  EXPECT_FALSE(says(reproduce({"--only", "c", "--show", "--seeds", "1,2"}).out, "mean of both"));
  for (const Arguments& where : {Arguments{"--show"}, Arguments{"--from-csv", path("runs.csv")}}) {
    Arguments arguments = {"--no-controls", "--seeds", "1,2", "--baseline", "sadam"};
    arguments.insert(arguments.end(), where.begin(), where.end());
    const auto other = reproduce(arguments);
    EXPECT_EQ(other.status, 0) << other.err;
    EXPECT_TRUE(says(other.out, "of S-Adam's best"));
    EXPECT_TRUE(says(other.out, "- --baseline sadam"));
    arguments[4] = "sadm";
    const auto refused = reproduce(arguments);
    EXPECT_EQ(refused.status, 2);
    EXPECT_TRUE(says(refused.err, "--baseline sadm: there is no such row; did you mean 'sadam'?"));
  }
  const auto curves = run_program({"reproduce", "curves", "--baseline", "adamw"});
  EXPECT_EQ(curves.status, 2);
  EXPECT_TRUE(says(curves.err, "leave it out"));
}

TEST_F(Reproduce, SeedsAreTakenOnlyFromSeeds) {
  for (const Arguments& seeds : {Arguments{"--seeds", ""}, Arguments{"--seeds", "99999999999999999999"},
                                 Arguments{"--seeds=-1"}, Arguments{"--set", "seed=3"}}) {
    const auto ended = reproduce(seeds);
    EXPECT_EQ(ended.status, 2) << seeds.front();
    EXPECT_NE(ended.err.find("--seeds"), std::string::npos) << ended.err;
  }
  EXPECT_FALSE(std::filesystem::exists(path("runs")));
}

TEST_F(Reproduce, ATableGivenToTrainIsSentToReproduce) {
  const auto ended = run_program({"train", path("small.toml"), "--root", path("runs")});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("small.toml:9"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("sadam reproduce"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace sadam::cli
