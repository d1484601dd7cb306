#include "page/shelf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "support/fake_runs.h"

namespace sadam::page {
namespace {

namespace fs = std::filesystem;
using sadam::testing::append;
using sadam::testing::recipe_with;
using sadam::testing::write_events;
using sadam::testing::write_run;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

train::StepEvent step_event(std::int64_t step, double loss, double lgi = 0, double brake = 1) {
  train::StepEvent event;
  event.step = step;
  event.epoch = 1;
  event.loss = loss;
  event.lr = 0.001;
  event.lgi = lgi;
  event.brake = brake;
  event.probed = lgi > 0;
  return event;
}

class ShelfTest : public sadam::testing::RunsTest {
 protected:
  Shelf shelf(bool live = true) const {
    return Shelf({.root = "runs",
                  .runs = [root = root_] { return runs_below(root, /*confined=*/true); },
                  .attachments = {root_},
                  .live = live});
  }
  static std::vector<std::string> ids_in(const Json& report) {
    std::vector<std::string> ids;
    for (const auto& run : report["runs"]) ids.push_back(run["id"]);
    return ids;
  }
  using Ids = std::vector<std::string>;
};

TEST_F(ShelfTest, ARunIsToldAsItHappened) {
  train::EpochEvent epoch;
  epoch.epoch = 1;
  epoch.step = 3;
  epoch.train_loss = 2;
  epoch.test_loss = kNaN;
  epoch.test_accuracy = 0.3495;
  epoch.train_seconds = 12;
  write_events(paths("a"), recipe_with({"train.epochs=1", "seed=7", "optimizer.probes=8"}),
               {step_event(1, 3, 0.25, 0.5), step_event(2, kNaN, 0.75, 0.25), step_event(3, 1, 0.5, 0.75),
                train::ChatterEvent{3, 3, 0.125, 0.5}, train::RegimeEvent{3, "lgi", 0.1, 0.9, 4},
                train::NoteEvent{"resumed"}, epoch});
  append(paths("a").recipe(), "\n[run]\nsadam = \"0.1.0\"\nthreads = 2\n");
  const auto report = shelf(/*live=*/false).report();
  EXPECT_EQ(report["root"], "runs");
  EXPECT_EQ(report["live"], false);
  ASSERT_EQ(report["runs"].size(), 1U);
  const auto& run = report["runs"][0];
  EXPECT_EQ(run["id"], "a");
  EXPECT_EQ(run["state"], "finished");
  EXPECT_EQ(run["problem"], "");
  EXPECT_EQ(run["title"], "a");
  EXPECT_EQ(run["optimizer"], "sadam k=8");
  EXPECT_EQ(run["seed"], 7);
  EXPECT_EQ(run["steps"], 3);
  EXPECT_EQ(run["epochs_done"], 1);
  EXPECT_EQ(run["epochs"], 1);
  EXPECT_EQ(run["best"], 34.95);
  EXPECT_EQ(run["last"], 34.95);
  EXPECT_EQ(run["mean_brake"], 0.5);
  EXPECT_EQ(run["mean_lgi"], 0.5);
  EXPECT_EQ(run["seconds"], 12);

  const auto& details = run["details"];
  const auto& loss = details["series"]["loss"];
  EXPECT_EQ(loss["step"], Json({1, 2, 3}));
  EXPECT_EQ(loss["mean"], Json({3.0, nullptr, 1.0}));
  EXPECT_EQ(loss["min"], Json::array());
  EXPECT_EQ(details["series"]["brake"]["mean"], Json({0.5, 0.25, 0.75}));
  EXPECT_EQ(details["series"]["chatter"]["mean"], Json::array({0.125}));
  EXPECT_EQ(details["series"]["flips"]["step"], Json::array({3}));
  EXPECT_FALSE(details["series"].contains("residual"));
  const auto& shares = details["histograms"]["lgi"];
  EXPECT_EQ(shares["width"], 0.01);
  EXPECT_EQ(shares["counts"][25], 1);
  EXPECT_EQ(shares["counts"][75], 1);
  EXPECT_EQ(details["epochs"][0], Json({{"epoch", 1},
                                        {"step", 3},
                                        {"test_loss", nullptr},
                                        {"test_accuracy", 34.95},
                                        {"validation_accuracy", nullptr},
                                        {"train_seconds", 12.0}}));
  EXPECT_EQ(details["regimes"][0]["quantity"], "lgi");
  EXPECT_EQ(details["environment"],
            Json::array({Json::array({"sadam", "0.1.0"}), Json::array({"threads", "2"})}));
  EXPECT_EQ(details["notes"][0], "resumed");
  EXPECT_EQ(details["differs"], Json::array());
  const auto& recipe = details["recipe"];
  EXPECT_NE(std::find(recipe.begin(), recipe.end(), Json::array({"optimizer.probes", "8"})), recipe.end());
}

TEST_F(ShelfTest, WithoutProbesThereIsNeitherRhoNorABrake) {
  write_run(paths("a"), recipe_with({"optimizer.name=adamw", "train.epochs=1"}), {0.5});
  const auto details = shelf(false).report()["runs"][0]["details"];
  EXPECT_TRUE(details["series"].contains("loss"));
  EXPECT_FALSE(details["series"].contains("lgi"));
  EXPECT_FALSE(details["series"].contains("brake"));
  EXPECT_TRUE(details["histograms"].empty());
}

TEST_F(ShelfTest, ALiveListHasNoDetailsAndARunHas) {
  write_run(paths("a"), recipe_with({}), {0.5});
  auto live = shelf();
  EXPECT_TRUE(live.report()["runs"][0]["details"].is_null());
  const auto run = live.run("a");
  ASSERT_TRUE(run);
  EXPECT_EQ((*run)["details"]["series"]["loss"]["step"].size(), 10U);
  EXPECT_EQ((*run)["stamp"], live.report()["runs"][0]["stamp"]);
}

TEST_F(ShelfTest, ARunGrowsIsCutBackAndGoes) {
  write_events(paths("a"), recipe_with({}), {step_event(1, 3), step_event(2, 2)});
  auto live = shelf();
  const auto steps = [&] { return live.run("a").value()["details"]["series"]["loss"]["step"].size(); };
  EXPECT_EQ(steps(), 2U);
  const auto before = shelf().stamps();

  const auto line = train::to_line(step_event(3, 1));
  append(paths("a").events(), line.substr(0, 30));
  EXPECT_EQ(steps(), 2U);
  append(paths("a").events(), line.substr(30));
  EXPECT_EQ(steps(), 3U);

  fs::resize_file(paths("a").events(), train::to_line(step_event(1, 3)).size());
  EXPECT_EQ(steps(), 1U);
  EXPECT_EQ(live.report()["runs"][0]["steps"], 1);

  fs::remove_all(paths("a").folder);
  EXPECT_FALSE(live.run("a"));
  EXPECT_TRUE(live.report()["runs"].empty());
  sadam::testing::write_text(paths("a").folder, "a file where a folder was");
  EXPECT_TRUE(live.report()["runs"].empty());
  EXPECT_NE(shelf().stamps(), before);
}

TEST_F(ShelfTest, BrokenLinesArePassedOverAndSaid) {
  write_run(paths("a"), recipe_with({"train.epochs=2"}), {0.25, 0.5});
  append(paths("a").events(), "garbage\n{\"event\":\"step\"}\n" + train::to_line(step_event(21, 9)));
  auto live = shelf();
  const auto run = live.run("a").value();
  EXPECT_EQ(run["state"], "damaged");
  EXPECT_NE(run["problem"].get<std::string>().find("line 23 is not an event"), std::string::npos)
      << run["problem"];
  EXPECT_EQ(run["best"], 50);
  EXPECT_EQ(run["details"]["series"]["loss"]["step"].size(), 21U);
  EXPECT_EQ(run["details"]["notes"].back(), "2 lines of events.jsonl are no event and passed over.");
}

TEST_F(ShelfTest, ARunInUseIsRunningAndItsStampSaysWhenThatEnds) {
  write_run(paths("a"), recipe_with({"train.epochs=9"}), {0.5});
  auto live = shelf();
  std::string while_running;
  {
    const auto held = train::RunFolder::open(paths("a").folder);
    EXPECT_EQ(live.report()["runs"][0]["state"], "running");
    while_running = live.report()["runs"][0]["stamp"];
  }
  EXPECT_EQ(live.report()["runs"][0]["state"], "stopped");
  EXPECT_NE(live.report()["runs"][0]["stamp"], while_running);
}

TEST_F(ShelfTest, RunsThatDifferInTheirSeedAreAGroupAndASeedCountsOnce) {
  for (const int seed : {1, 2})
    write_run(paths(fmt::format("adamw-seed{}", seed)),
              recipe_with({"optimizer.name=adamw", fmt::format("seed={}", seed)}), {0.5});
  write_run(paths("again"), recipe_with({"optimizer.name=adamw", "seed=2"}), {0.5});
  write_run(paths("other"), recipe_with({"optimizer.name=adamw", "seed=2", "optimizer.lr=0.1"}), {0.5});
  const auto report = shelf().report();
  ASSERT_EQ(ids_in(report), Ids({"adamw-seed1", "adamw-seed2", "again", "other"}));
  const auto group = [&](std::size_t run) { return report["runs"][run]["group"]; };
  EXPECT_EQ(group(0), "adamw");
  EXPECT_EQ(group(1), "adamw");
  EXPECT_NE(group(2), "adamw");
  EXPECT_NE(group(3), group(2));
}

TEST_F(ShelfTest, NamesMayBeAnything) {
  for (const char* name : {"<script>", "a\"b", "\xff\xfe", "..a", "ü"})
    write_run(paths(name), recipe_with({}), {0.5});
  const auto report = shelf().report();
  EXPECT_EQ(report["runs"].size(), 5U);
  const auto text = to_text(report);  // no exception for what is no UTF-8
  EXPECT_EQ(Json::parse(text)["runs"].size(), 5U);
  EXPECT_NE(text.find("\"<script>\""), std::string::npos);
}

TEST_F(ShelfTest, ARecipeThatCannotBeReadIsShownWithItsProblem) {
  write_run(paths("a"), recipe_with({}), {0.5});
  sadam::testing::write_text(paths("a").recipe(), "[[[");
  const auto run = shelf().run("a").value();
  EXPECT_EQ(run["state"], "damaged");
  EXPECT_NE(run["problem"], "");
  EXPECT_TRUE(run["seed"].is_null());
  EXPECT_EQ(run["details"]["series"]["loss"]["step"].size(), 10U);
}

TEST_F(ShelfTest, NothingOutsideIsShownThoughALinkLeadsThere) {
  const sadam::testing::TemporaryFolder outside;
  const train::RunPaths secret{outside.path() / "secret"};
  write_run(secret, recipe_with({"title=secret"}), {0.5});
  write_run(paths("inside"), recipe_with({}), {0.5});

  fs::create_directory_symlink(secret.folder, root_ / "folder-link");
  write_run(paths("recipe-link"), recipe_with({}), {0.5});
  fs::remove(paths("recipe-link").recipe());
  fs::create_symlink(secret.recipe(), paths("recipe-link").recipe());
  write_run(paths("events-link"), recipe_with({}), {0.5});
  fs::remove(paths("events-link").events());
  fs::create_symlink("../../" + outside.path().filename().string() + "/secret/events.jsonl",
                     paths("events-link").events());
  fs::create_symlink(outside.path() / "picture.svg", root_ / "picture.svg");
  sadam::testing::write_text(outside.path() / "picture.svg", "<svg/>");
  fs::create_directory_symlink(paths("inside").folder, root_ / "inside-link");

  const auto report = shelf().report();
  EXPECT_EQ(ids_in(report), Ids({"inside", "inside-link"}));
  EXPECT_TRUE(report["pictures"].empty());
  EXPECT_FALSE(shelf().run("folder-link"));
  EXPECT_EQ(to_text(report).find("secret"), std::string::npos);
  // A report, which its reader makes for himself, follows them.
  EXPECT_EQ(runs_below(root_, /*confined=*/false).size(), 5U);
}

TEST_F(ShelfTest, APipeInARunsFolderIsNotWaitedFor) {
  write_run(paths("a"), recipe_with({}), {0.5});
  fs::remove(paths("a").checkpoint());
  ASSERT_EQ(::mkfifo(paths("a").checkpoint().c_str(), 0600), 0);
  EXPECT_TRUE(shelf().report()["runs"].empty());
}

TEST_F(ShelfTest, TheFolderOfOneRunIsThatRun) {
  write_run(paths("a"), recipe_with({}), {0.5});
  for (const auto& folder : {root_ / "a", root_ / "a" / ""}) {
    const auto found = runs_below(folder, true);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].id, "a");
  }
}

TEST_F(ShelfTest, AnEmptyFolderIsAnEmptyReport) {
  const auto report = shelf().report();
  for (const char* list : {"runs", "tables", "pictures", "sheets"}) EXPECT_TRUE(report[list].empty()) << list;
  EXPECT_EQ(shelf().stamps(), "[]");
}

TEST_F(ShelfTest, PicturesAndSheetsThatLieBesideTheRunsAreShown) {
  write_run(paths("a"), recipe_with({}), {0.5});
  sadam::testing::write_text(root_ / "a" / "own.csv", "not,shown\n");
  fs::create_directories(root_ / "lab");
  sadam::testing::write_text(root_ / "lab" / "kinks.svg", "<svg>ü</svg>");
  sadam::testing::write_text(root_ / "kinks.png", "\x89PNG");
  sadam::testing::write_text(root_ / "theory.csv", "claim,holds\n\"a, b\",\"say \"\"x\"\"\"\n");
  sadam::testing::write_text(root_ / "large.svg", std::string(2 << 20, ' '));
  sadam::testing::write_text(root_ / "notes.txt", "not shown");
  const auto report = shelf().report();
  ASSERT_EQ(report["pictures"].size(), 3U) << report["pictures"];
  EXPECT_EQ(report["pictures"][0]["id"], "kinks.png");
  EXPECT_EQ(report["pictures"][0]["title"], "kinks");
  EXPECT_EQ(report["pictures"][0]["png"], "iVBORw==");
  EXPECT_TRUE(report["pictures"][0]["svg"].is_null());
  EXPECT_EQ(report["pictures"][1]["id"], "lab/kinks.svg");
  EXPECT_EQ(report["pictures"][1]["svg"], "<svg>ü</svg>");
  EXPECT_EQ(report["pictures"][2]["title"], "large.svg (left out: 2.0 MiB)");
  ASSERT_EQ(report["sheets"].size(), 1U);
  EXPECT_EQ(report["sheets"][0]["title"], "theory");
  EXPECT_EQ(report["sheets"][0]["header"], Json({"claim", "holds"}));
  EXPECT_EQ(report["sheets"][0]["rows"], Json::array({Json::array({"a, b", "say \"x\""})}));
}

TEST_F(ShelfTest, AHundredThousandStepsTakeLittleRoomAndNoPeakIsLost) {
  write_events(paths("long"), recipe_with({"train.epochs=1"}), {});
  {
    std::ofstream out(paths("long").events(), std::ios::binary);
    fmt::memory_buffer lines;
    for (int step = 1; step <= 100'000; ++step) {
      fmt::format_to(std::back_inserter(lines),
                     R"({{"event":"step","step":{},"epoch":1,"loss":{},"lr":0.001,"lgi":0.70458793897991,)"
                     R"("brake":0.4376009379253003,"probed":true,"within_noise":false,"skipped":false,)"
                     R"("non_finite_probes":0,"probe_seconds":0.018927653}})"
                     "\n",
                     step, step == 34'567 ? 1234.5 : 2.0 + 1.0 / step);
      if (lines.size() > 1 << 20) {
        out.write(lines.data(), static_cast<std::streamsize>(lines.size()));
        lines.clear();
      }
    }
    out.write(lines.data(), static_cast<std::streamsize>(lines.size()));
  }
  const auto report = shelf(false).report();
  EXPECT_LT(to_text(report).size(), 1'000'000U);
  const auto& loss = report["runs"][0]["details"]["series"]["loss"];
  const auto& high = loss["max"];
  const auto peak = std::find(high.begin(), high.end(), 1234.5);
  ASSERT_NE(peak, high.end());
  EXPECT_EQ(peak - high.begin(), (34'567 - 1) / 64);
  EXPECT_EQ(loss["step"].back(), 100'000);
}

}  // namespace
}  // namespace sadam::page
