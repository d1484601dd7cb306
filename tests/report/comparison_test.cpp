#include "report/comparison.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/usage_error.h"
#include "report/run_summary.h"
#include "support/fake_runs.h"
#include "support/refusal.h"

namespace sadam::report {
namespace {

using sadam::testing::add_irregular_steps;
using sadam::testing::append;
using sadam::testing::recipe_with;
using sadam::testing::write_run;

class ComparisonTest : public sadam::testing::RunsTest {
 protected:
  Comparison compare_named(const std::vector<std::string>& names, bool by_seed = false,
                           const std::string& baseline = "") const {
    return compare(named_runs(names, root_), by_seed, baseline);
  }

  // Two learning rates, two seeds each: 1e-3 is 10 and 20 points better. A third seed has no partner.
  std::vector<std::string> write_grid() const {
    const auto write = [&](const std::string& name, const std::string& lr, const std::string& seed,
                           std::vector<double> accuracies) {
      write_run(paths(name), recipe_with({"train.epochs=2", "optimizer.lr=" + lr, "seed=" + seed}),
                accuracies);
    };
    write("lr1e-4-seed1", "1e-4", "1", {0.1, 0.20});
    write("lr1e-4-seed2", "1e-4", "2", {0.1, 0.30});
    write("lr1e-4-seed3", "1e-4", "3", {0.1, 0.25});
    write("lr1e-3-seed1", "1e-3", "1", {0.1, 0.30});
    write("lr1e-3-seed2", "1e-3", "2", {0.1, 0.50});
    return {"lr1e-4-seed1", "lr1e-4-seed2", "lr1e-4-seed3", "lr1e-3-seed1", "lr1e-3-seed2"};
  }

  void write_seeds() {
    write_run(paths("adamw-41"), recipe_with({"train.epochs=2", "optimizer.name=adamw", "seed=41"}),
              {0.10, 0.20});
    write_run(paths("adamw-42"), recipe_with({"train.epochs=2", "optimizer.name=adamw", "seed=42"}),
              {0.20, 0.30});
    write_run(paths("sadam-42"), recipe_with({"train.epochs=2", "seed=42"}), {0.30, 0.40});
  }
};

std::vector<std::string> fields(const Comparison& comparison) {
  std::vector<std::string> result;
  for (const auto& difference : comparison.differences) result.push_back(difference.field);
  return result;
}

TEST_F(ComparisonTest, ShowsRecipesResultsAndCurvesSideBySide) {
  write_seeds();
  EXPECT_EQ(to_text(compare_named({"adamw-42", "sadam-42"})),
            "                      adamw-42   sadam-42\n"
            "────────────────────  ────────  ─────────\n"
            "optimizer                adamw  sadam k=2\n"
            "optimizer.name           adamw      sadam\n"
            "\n"
            "best accuracy, %         30.00      40.00\n"
            "last accuracy, %         30.00      40.00\n"
            "epoch of the best            2          2\n"
            "last test loss          1.5000     1.5000\n"
            "mean ρ                       –      0.500\n"
            "mean brake                   –      0.400\n"
            "time per step         500.0 ms   500.0 ms\n"
            "training time             10 s       10 s\n"
            "evaluation time          2.0 s      2.0 s\n"
            "peak memory            1.0 GiB    1.0 GiB\n"
            "epochs done                  2          2\n"
            "\n"
            "accuracy, %, epoch 1     20.00      30.00\n"
            "accuracy, %, epoch 2     30.00      40.00\n");
}

TEST_F(ComparisonTest, NamesOnlyFieldsThatDiffer) {
  write_run(paths("a"), recipe_with({"optimizer.probes=8", "train.batch=64"}), {0.1});
  write_run(paths("b"), recipe_with({"train.batch=32"}), {0.1});
  EXPECT_EQ(fields(compare_named({"a", "b"})),
            (std::vector<std::string>{"optimizer", "train.batch", "optimizer.probes"}));
}

TEST_F(ComparisonTest, SaysSoWhenRecipesAreTheSame) {
  write_run(paths("a"), recipe_with({}), {0.1});
  write_run(paths("b"), recipe_with({}), {0.1});
  EXPECT_NE(to_text(compare_named({"a", "b"})).find("(recipes: the same)"), std::string::npos);
}

TEST_F(ComparisonTest, FoldsSeedsIntoMeanAndDeviation) {
  write_seeds();
  const auto comparison = compare_named({"adamw-41", "sadam-42", "adamw-42"}, true);
  ASSERT_EQ(comparison.entrants.size(), 2U);
  EXPECT_EQ(comparison.entrants[0].name, "adamw");
  EXPECT_EQ(comparison.entrants[1].name, "sadam-42");
  const auto text = to_text(comparison);
  EXPECT_NE(text.find("25.00 ± 7.07"), std::string::npos) << text;
  EXPECT_NE(text.find("41, 42"), std::string::npos) << text;
}

TEST_F(ComparisonTest, FoldsNothingUnlessAsked) {
  write_seeds();
  EXPECT_EQ(compare_named({"adamw-41", "adamw-42"}).entrants.size(), 2U);
}

TEST_F(ComparisonTest, KeepsRunsApartThatDifferInMoreThanTheSeed) {
  write_run(paths("a"), recipe_with({"seed=1", "optimizer.lr=0.1"}), {0.1});
  write_run(paths("b"), recipe_with({"seed=2"}), {0.1});
  EXPECT_EQ(compare_named({"a", "b"}, true).entrants.size(), 2U);
}

TEST_F(ComparisonTest, FoldsControlsWhoseRunsBelongTogether) {
  for (const std::string k : {"2", "8"}) {
    for (const std::string seed : {"1", "2"}) {
      const auto run = "k" + k + "-" + seed;
      write_run(paths(run), recipe_with({"seed=" + seed, "optimizer.probes=" + k}), {0.1});
      write_run(paths("matched-" + run),
                recipe_with({"seed=" + seed, "optimizer.name=adamw", "control.kind=matched",
                             "control.run=" + paths(run).folder.string(), "control.brake=0.4" + seed}),
                {0.1});
    }
  }
  const auto comparison =
      compare_named({"matched-k2-1", "matched-k2-2", "matched-k8-1", "matched-k8-2"}, true);
  ASSERT_EQ(comparison.entrants.size(), 2U);
  EXPECT_EQ(comparison.entrants[0].name, "matched-k2");
  EXPECT_EQ(comparison.entrants[1].runs.size(), 2U);
}

// Each has the brakes of the other's seed; with the runs that braked and without them.
TEST_F(ComparisonTest, FoldsReplayedControlsWhereverTheRunsThatBrakedAre) {
  for (const std::string seed : {"1", "2"}) {
    write_run(paths("k2/seed-" + seed), recipe_with({"seed=" + seed}), {0.1});
    for (const std::string folder : {"k2", "gone"})
      write_run(paths("replayed-" + folder + "/seed-" + seed),
                recipe_with(
                    {"seed=" + seed, "optimizer.name=adamw", "control.kind=replayed",
                     "control.run=" + paths(folder + "/seed-" + (seed == "1" ? "2" : "1")).folder.string()}),
                {0.1});
  }
  for (const std::string name : {"replayed-k2", "replayed-gone"})
    EXPECT_EQ(compare_named({name + "/seed-1", name + "/seed-2"}, true).entrants.size(), 1U) << name;
}

TEST_F(ComparisonTest, ManyRunsAreRowsNamedByWhatDiffers) {
  const auto runs = write_grid();
  EXPECT_EQ(to_text_rows(compare_named(runs, true)),
            "         n        best, %        last, %      difference  pairs  time\n"
            "───────  ─  ─────────────  ─────────────  ──────────────  ─────  ────\n"
            "lr=1e-4  3   25.00 ± 5.00   25.00 ± 5.00            base         10 s\n"
            "lr=1e-3  2  40.00 ± 14.14  40.00 ± 14.14  +15.00 ± 63.53      2  10 s\n"
            "\n"
            "Means ± deviations of n runs that differ only in the seed. Difference: best\n"
            "accuracy less that of 'lr=1e-4', in points, seed by seed, ± its 95 % interval.\n");
  const auto narrow = to_text_rows(compare_named(runs, true), 64);
  EXPECT_EQ(narrow.find("time"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("pairs"), std::string::npos) << narrow;
  // One block, whatever the width.
  const auto narrower = to_text_rows(compare_named(runs, true), 44);
  EXPECT_TRUE(narrower.starts_with("         n        best, %      difference\n")) << narrower;
  EXPECT_EQ(narrower.find("last"), std::string::npos) << narrower;
}

TEST_F(ComparisonTest, RunsThatEndedArePairsHoweverLongTheyWere) {
  write_run(paths("long"), recipe_with({"train.epochs=3"}), {0.1, 0.2, 0.3});
  write_run(paths("short"), recipe_with({"train.epochs=1"}), {0.2});
  write_run(paths("stopped"), recipe_with({"train.epochs=3"}), {0.1});
  const auto difference = [&](const char* a, const char* b) {
    return differences_by_seed({summarise(paths(a), a)}, {summarise(paths(b), b)},
                               &RunSummary::last_accuracy);
  };
  ASSERT_EQ(difference("long", "short").size(), 1U);
  EXPECT_NEAR(difference("long", "short").front(), 10, 1e-9);
  EXPECT_TRUE(difference("long", "stopped").empty());
  EXPECT_EQ(difference("short", "stopped").size(), 1U);
}

// Lists of runs hold per cent.
TEST(DifferencesBySeed, AreTheSameWhetherAccuraciesWereFractionsOrPerCent) {
  RunSummary none;
  none.recipe.emplace();
  none.last_accuracy = 0.0625;
  for (int i = 0; i <= 2000; ++i) {
    auto run = none;
    run.last_accuracy = i / 2000.0;
    auto read_back = none;
    read_back.last_accuracy = base::percent(i / 2000.0) / 100;
    EXPECT_EQ(differences_by_seed({run}, {none}, &RunSummary::last_accuracy),
              differences_by_seed({read_back}, {none}, &RunSummary::last_accuracy))
        << i;
  }
}

TEST_F(ComparisonTest, DifferencesAreToTheBaselineSeedBySeed) {
  const auto runs = write_grid();
  for (const char* name : {"lr=1e-3", "lr1e-3", "lr1e-3-seed2"}) {
    const auto comparison = compare_named(runs, true, name);
    EXPECT_EQ(comparison.baseline, 1U) << name;
    const auto json = nlohmann::json::parse(to_json(comparison));
    EXPECT_EQ(json[0]["difference"]["less"], "lr1e-3");
    EXPECT_NEAR(json[0]["difference"]["best"]["mean"].get<double>(), -15, 1e-9);
    EXPECT_NEAR(json[0]["difference"]["best"]["half_interval"].get<double>(), 5 * 12.7062047, 1e-6);
    EXPECT_EQ(json[0]["difference"]["best"]["pairs"], 2);
    EXPECT_TRUE(json[1]["difference"]["best"]["mean"].is_null());
    EXPECT_NE(to_csv(comparison).find("\ndifference,last,-15"), std::string::npos) << to_csv(comparison);
    EXPECT_NE(to_text(comparison).find("best, points, less lr1e-3"), std::string::npos);
  }
  EXPECT_TRUE(
      sadam::testing::says(sadam::testing::refusal<UsageError>([&] { compare_named(runs, true, "lr=1e-5"); }),
                           "--baseline lr=1e-5: none of these is called so"));
}

TEST_F(ComparisonTest, RunsThatHaveNotComeEquallyFarAreNoPair) {
  auto runs = write_grid();
  write_run(paths("lr1e-3-seed2"), recipe_with({"train.epochs=2", "seed=2"}), {0.5});
  EXPECT_EQ(compare_named(runs, true).paired[0].values[1].size(), 1U);
}

TEST_F(ComparisonTest, FoldsRunsThatDifferInWhatTheMachineDecides) {
  write_run(paths("a-1"), recipe_with({"seed=1", "train.threads=1", "data.root=x"}), {0.1});
  write_run(paths("a-2"), recipe_with({"seed=2", "train.threads=2", "train.checkpoint_every=5"}), {0.1});
  EXPECT_EQ(compare_named({"a-1", "a-2"}, true).entrants.size(), 1U);
  // Unless that is what is compared.
  write_run(paths("b-1"), recipe_with({"seed=1", "train.threads=2"}), {0.1});
  EXPECT_EQ(compare_named({"a-1", "b-1"}, true).entrants.size(), 2U);
}

TEST_F(ComparisonTest, CountsManyUnfinishedRunsInsteadOfNamingThem) {
  std::vector<std::string> runs;
  for (int seed = 0; seed < 9; ++seed) {
    runs.push_back(fmt::format("run-{}", seed));
    write_run(paths(runs.back()), recipe_with({"train.epochs=2", fmt::format("seed={}", seed)}), {0.1});
  }
  EXPECT_EQ(compare_named(runs, true).warnings,
            std::vector<std::string>{"9 runs are not finished: their numbers are not final."});
}

TEST_F(ComparisonTest, DrawsBroadMeansAndThinSeeds) {
  const auto panels = to_picture(compare_named(write_grid(), true)).rows.at(0).panels;
  ASSERT_EQ(panels.size(), 2U);
  EXPECT_EQ(panels[0].titles.y, "test accuracy, %");
  EXPECT_EQ(panels[1].titles.y, "training loss");
  const auto& curves = panels[0].curves;  // the thin ones first
  ASSERT_EQ(curves.size(), 7U);
  EXPECT_EQ(curves[0].name, "lr1e-4-seed1");
  EXPECT_EQ(curves[0].ink, Ink::thin);
  EXPECT_EQ(curves[5].name, "lr=1e-4");
  EXPECT_EQ(curves[5].ink, Ink::line);
  EXPECT_EQ(curves[5].style.colour, curves[0].style.colour);
  EXPECT_DOUBLE_EQ(curves[5].points[1].y, 25);
  EXPECT_NE(curves[6].style.colour, curves[5].style.colour);
  // Single runs are their own means.
  EXPECT_EQ(to_picture(compare_named(write_grid())).rows.at(0).panels.at(0).curves.size(), 5U);
}

TEST_F(ComparisonTest, GivesProgramsMeansAndDeviations) {
  write_seeds();
  const auto comparison = compare_named({"adamw-41", "adamw-42", "sadam-42"}, true);
  const auto json = nlohmann::json::parse(to_json(comparison));
  EXPECT_EQ(json[0]["seeds"], nlohmann::json({41, 42}));
  EXPECT_NEAR(json[0]["result"]["best"].get<double>(), 25, 1e-9);
  EXPECT_NEAR(json[0]["result_deviation"]["best"].get<double>(), 7.0710678, 1e-6);
  EXPECT_TRUE(json[1]["result_deviation"]["best"].is_null());
  EXPECT_EQ(json[1]["accuracy"]["1"], 30.0);
  EXPECT_EQ(json[0]["recipe"]["optimizer.name"], "adamw");

  const auto csv = to_csv(comparison);
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "section,field,adamw,adamw deviation,adamw count,sadam-42,sadam-42 deviation,sadam-42 count");
  EXPECT_NE(csv.find("\nrecipe,optimizer.name,adamw,,,sadam,,\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\nresult,best_epoch,2,0,2,2,,1\n"), std::string::npos) << csv;
  EXPECT_EQ(json[0]["result_count"]["best"], 2);
  EXPECT_EQ(json[1]["accuracy_count"]["1"], 1);
}

TEST_F(ComparisonTest, CountsWhatAMeanIsOf) {
  write_seeds();
  write_run(paths("adamw-43"), recipe_with({"train.epochs=2", "optimizer.name=adamw", "seed=43"}), {0.3});
  const auto json = nlohmann::json::parse(to_json(compare_named({"adamw-41", "adamw-42", "adamw-43"}, true)));
  EXPECT_EQ(json[0]["accuracy_count"]["1"], 3);
  EXPECT_EQ(json[0]["accuracy_count"]["2"], 2);
}

TEST_F(ComparisonTest, RefusesASeedThatWouldCountTwice) {
  write_seeds();
  write_run(paths("again"), recipe_with({"train.epochs=2", "optimizer.name=adamw", "seed=41", "title=x"}),
            {0.1, 0.2});
  const std::vector<std::string> runs = {"adamw-41", "adamw-42", "sadam-42", "again"};
  EXPECT_EQ(
      sadam::testing::refusal<UsageError>([&] { compare_named(runs, true); }),
      "--by-seed: the runs 'adamw-41' and 'again' have the same recipe and the same seed, 41, which would "
      "count twice; leave one of them out.");
  EXPECT_NO_THROW(compare_named(runs, false));
}

TEST_F(ComparisonTest, HasOneCsvColumnARunWhereNothingIsFolded) {
  write_seeds();
  const auto csv = to_csv(compare_named({"adamw-42", "sadam-42"}));
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "section,field,adamw-42,sadam-42");
  EXPECT_NE(csv.find("\nresult,best_epoch,2,2\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\naccuracy,1,20,30\n"), std::string::npos) << csv;
}

TEST_F(ComparisonTest, WarnsOfNumbersThatAreNotFinal) {
  write_seeds();
  write_run(paths("half"), recipe_with({"train.epochs=2", "seed=7"}), {0.5});
  const auto comparison = compare_named({"half", "sadam-42"});
  ASSERT_EQ(comparison.warnings.size(), 1U);
  EXPECT_EQ(comparison.warnings[0], "half is stopped after 1 of 2 epochs: its numbers are not final.");
}

TEST_F(ComparisonTest, ShowsSkippedStepsOnlyWhereThereAreAny) {
  write_seeds();
  EXPECT_EQ(to_text(compare_named({"adamw-42", "sadam-42"})).find("skipped"), std::string::npos);
  add_irregular_steps(paths("sadam-42"));
  const auto comparison = compare_named({"adamw-42", "sadam-42"});
  const auto text = to_text(comparison);
  EXPECT_NE(text.find("steps skipped                        0          1\n"), std::string::npos) << text;
  EXPECT_EQ(comparison.warnings.size(), 3U);
  // Programs always get the same fields.
  EXPECT_NE(to_csv(compare_named({"adamw-41", "adamw-42"})).find("\nresult,skipped,0,0\n"),
            std::string::npos);
}

TEST_F(ComparisonTest, StopsAtADamagedRun) {
  write_seeds();
  append(paths("adamw-41").events(), "rubbish\n");
  EXPECT_THROW(compare_named({"adamw-41", "sadam-42"}), Error);
}

// Four runs whose gap falls with ρ, and a fifth without an epoch.
TEST_F(ComparisonTest, RelatesInstabilityToTheGapBetweenTestAndTrainingLoss) {
  for (int i = 0; i < 5; ++i) {
    const auto run = paths(fmt::format("run-{}", i));
    std::filesystem::create_directories(run.folder);
    std::ofstream(run.recipe()) << train::to_toml(recipe_with({"train.epochs=1"}));
    train::StepEvent step;
    step.step = 1;
    step.probed = true;
    step.lgi = 0.1 * i;
    step.brake = 0.5;
    append(run.events(), train::to_line(step));
    append(run.events(), train::to_line(train::ChatterEvent{1, 1, 0.2 * i, 0.5}));
    if (i == 4) continue;
    train::EpochEvent epoch;
    epoch.epoch = 1;
    epoch.step = 1;
    epoch.train_loss = 1;
    epoch.test_loss = 3 - i;
    append(run.events(), train::to_line(epoch));
  }
  const auto csv = to_csv(generalisation(summarise_all(root_)));
  EXPECT_NE(csv.find("\nlgi,4,-1,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\nbrake,4,0,-1,1\n"), std::string::npos) << "equal brakes have no order: " << csv;
  EXPECT_NE(csv.find("\nchatter,4,-1,"), std::string::npos) << csv;
  EXPECT_TRUE(
      sadam::testing::says(sadam::testing::refusal<UsageError>([] { generalisation({}); }), "fewer than 4"));
}

}  // namespace
}  // namespace sadam::report
