#include "page/shelf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <set>

#include <map>

#include <algorithm>
#include <cmath>

#include "page/shelf.h"
#include "reproduce/plan.h"
#include "reproduce/render.h"
#include "support/fake_runs.h"

namespace sadam::page {
namespace {

using reproduce::Control;
using sadam::testing::write_run;

class PageTables : public sadam::testing::RunsTest {
 protected:
  // Two cells of Table 1 and the controls of one, three seeds, three epochs each.
  reproduce::Plan write_table(const std::string& below = "") {
    reproduce::Request request;
    request.root = root_ / below;
    request.seeds = {1, 2, 3};
    request.epochs = 3;
    request.only = {"cifar100/adamw", "cifar100/sadam-k2"};
    request.controls.push_back(Control::replayed);
    auto plan = make_plan(reproduce::find_table("table1"), request);
    for (const auto& run : plan.runs) {
      const double shift = 0.01 * static_cast<double>(run.seed);
      auto accuracy = run.control == Control::matched    ? 0.15
                      : run.control == Control::shuffled ? 0.16
                      : run.control == Control::replayed ? 0.11
                      : run.control == Control::cosine   ? 0.20
                      : run.row == 1                     ? 0.10
                                                         : 0.14 + shift;
      accuracy += shift;
      write_run({run.folder}, run.recipe, {0.05, accuracy + 0.02, accuracy});
    }
    return plan;
  }
  Json report() const {
    return Shelf({.root = "runs",
                  .runs = [root = root_] { return runs_below(root, true); },
                  .attachments = {},
                  .live = true})
        .report();
  }
  static Json row(const Json& table, const std::string& key) {
    for (const auto& each : table["rows"])
      if (each["key"] == key) return each;
    return {};
  }
};

TEST_F(PageTables, AreWhatTheHandComputes) {
  write_table();
  const auto all = report();
  ASSERT_EQ(all["tables"].size(), 1U);
  const auto& table = all["tables"][0];
  EXPECT_EQ(table["key"], "table1-3-epochs");
  EXPECT_EQ(table["baseline"], "adamw");
  std::vector<std::string> keys;
  for (const auto& each : table["rows"]) keys.push_back(each["key"]);
  EXPECT_EQ(keys, std::vector<std::string>({"adamw", "sadam-k2", "sadam-k2.matched", "sadam-k2.shuffled",
                                            "sadam-k2.replayed", "adamw.cosine"}));
  EXPECT_TRUE(row(table, "adamw")["control_of"].is_null());
  EXPECT_EQ(row(table, "sadam-k2.matched")["control_of"], "sadam-k2");
  EXPECT_TRUE(row(table, "adamw.cosine")["control_of"].is_null());

  const auto column =
      static_cast<std::size_t>(std::find_if(table["columns"].begin(), table["columns"].end(),
                                            [](const auto& each) { return each["key"] == "cifar100"; }) -
                               table["columns"].begin());
  for (const auto& each : table["rows"]) ASSERT_EQ(each["cells"].size(), table["columns"].size());
  // S-Adam ends at 16, 18, 20 % and is 2 points better in its second epoch; AdamW ends at 11, 12, 13 %.
  const auto cell = row(table, "sadam-k2")["cells"][column];
  EXPECT_EQ(cell["seeds"], 3);
  EXPECT_EQ(cell["paper"], 18.11);
  EXPECT_NEAR(cell["mean"], 20, 1e-9);
  EXPECT_NEAR(cell["deviation"], 2, 1e-9);
  EXPECT_NEAR(cell["last_mean"], 18, 1e-9);
  EXPECT_NEAR(cell["last_deviation"], 2, 1e-9);
  EXPECT_NEAR(cell["less_paper"], 1.89, 1e-9);
  EXPECT_NEAR(cell["mean_brake"], 0.4, 1e-9);
  EXPECT_EQ(cell["runs"],
            Json({"table1-3-epochs/cifar100/sadam-k2/seed-1", "table1-3-epochs/cifar100/sadam-k2/seed-2",
                  "table1-3-epochs/cifar100/sadam-k2/seed-3"}));
  // 5, 6, 7 points: Student's t for three values is 4.302653.
  const auto& baseline = cell["less_baseline"];
  EXPECT_NEAR(baseline["mean"], 6, 1e-9);
  EXPECT_NEAR(baseline["half_width"], 4.3026527 / std::sqrt(3), 1e-6);
  EXPECT_EQ(baseline["pairs"][0]["seed"], 1);
  EXPECT_NEAR(baseline["pairs"][0]["difference"], 5, 1e-9);
  // The matched control ends at 16, 17, 18 %.
  EXPECT_NEAR(cell["less_control"]["mean"], 1, 1e-9);
  EXPECT_NEAR(cell["less_control"]["pairs"][2]["difference"], 2, 1e-9);
  // The shuffled one at 17, 18, 19 %, the replayed one at 12, 13, 14 %, cosine at 21, 22, 23 %.
  EXPECT_NEAR(cell["less_replayed"]["mean"], 5, 1e-9);
  EXPECT_NEAR(cell["less_shuffled"]["mean"], 0, 1e-9);
  EXPECT_NEAR(cell["less_shuffled"]["pairs"][2]["difference"], 1, 1e-9);
  EXPECT_NEAR(cell["less_cosine"]["mean"], -4, 1e-9);
  EXPECT_NEAR(row(table, "adamw")["cells"][column]["less_cosine"]["mean"], -10, 1e-9);
  // It reaches 95 % of AdamW's best, 14 %, in the second epoch of each seed.
  EXPECT_GT(cell["seconds"], 0);
  EXPECT_EQ(cell["paper_seconds"], reproduce::find_table("table1").rows[2].paper_seconds.at("cifar100"));
  EXPECT_TRUE(row(table, "adamw")["cells"][column]["less_baseline"].is_null());
  EXPECT_TRUE(row(table, "sadam-k2.matched")["cells"][column]["less_baseline"].is_null());
}

// As runs are that were trained on another machine.
TEST_F(PageTables, SeedsOfAControlStayTogetherWhereverTheirFolderGoes) {
  write_table("here");
  std::filesystem::rename(root_ / "here", root_ / "there");
  std::map<std::string, std::set<std::string>> groups;
  const auto all = report();
  for (const auto& run : all["runs"]) {
    const std::filesystem::path id = std::string(run["id"]);
    groups[id.parent_path().filename()].insert(run["group"]);
  }
  EXPECT_EQ(groups.size(), 6U);
  for (const auto& [row, names] : groups) EXPECT_EQ(names.size(), 1U) << row;
}

TEST_F(PageTables, HaveTheNumbersOfReproduce) {
  const auto plan = write_table("deeper");
  const auto flat = to_flat(plan);
  const auto all = report();
  ASSERT_EQ(all["tables"].size(), 1U);
  const auto at = [&](const std::vector<report::Cell>& cells, const std::string& key) {
    const auto found = std::find_if(flat.columns.begin(), flat.columns.end(),
                                    [&](const auto& column) { return column.key == key; });
    return report::json_value(cells[static_cast<std::size_t>(found - flat.columns.begin())].value);
  };
  for (const auto& cells : flat.rows) {
    const auto control = at(cells, "control").get<std::string>();
    const auto key = at(cells, "method").get<std::string>() + (control == "none" ? "" : "." + control);
    const auto mine = row(all["tables"][0], key)["cells"][0];
    for (const auto& [theirs, ours] : {std::pair("best_mean", "mean"),
                                       {"best_deviation", "deviation"},
                                       {"last_mean", "last_mean"},
                                       {"last_deviation", "last_deviation"},
                                       {"paper_best", "paper"},
                                       {"seeds", "seeds"},
                                       {"brake_mean", "mean_brake"}})
      EXPECT_EQ(at(cells, theirs), mine[ours]) << key << ' ' << ours;
  }
  EXPECT_EQ(flat.rows.size(), 6U);
}

// The mean of five columns, and rows whose baseline is another than the table's.
TEST_F(PageTables, HaveMeansOfColumnsAndBaselinesOfRows) {
  reproduce::Request request;
  request.root = root_;
  request.seeds = {1, 2};
  request.epochs = 2;
  request.only = {"adamw", "adamw-cosine", "step4-cosine"};
  const auto plan = make_plan(reproduce::find_table("learning-rates"), request);
  for (const auto& run : plan.runs) {
    if (run.column >= 5) continue;  // Imagewoof
    const double gain = run.row == 0 ? 0 : run.row == 1 ? 0.1 : 0.1 + 0.01 * static_cast<double>(run.column);
    write_run({run.folder}, run.recipe, {0.1, 0.2 + gain + 0.01 * static_cast<double>(run.seed)});
  }
  const auto all = report();
  const auto& table = all["tables"].at(0);
  ASSERT_EQ(table["columns"].size(), 12U);
  EXPECT_EQ(table["columns"][10]["key"], "cifar100-mean");
  EXPECT_TRUE(row(table, "adamw")["baseline"].is_null());
  EXPECT_EQ(row(table, "adamw-cosine")["baseline"], "adamw");
  EXPECT_EQ(row(table, "step4-cosine")["baseline"], "adamw-cosine");
  EXPECT_TRUE(row(table, "adamw")["cells"][11].is_null());
  const auto cell = row(table, "step4-cosine")["cells"][10];
  EXPECT_EQ(cell["seeds"], 2);
  EXPECT_NEAR(cell["last_mean"].get<double>(), 33.5, 1e-9);
  EXPECT_NEAR(cell["less_baseline"]["mean"].get<double>(), 2, 1e-9);
  EXPECT_EQ(cell["less_baseline"]["pairs"].size(), 2U);
  EXPECT_TRUE(cell["seconds"].is_null());
  EXPECT_TRUE(cell["runs"].empty());
}

TEST_F(PageTables, SayWhatDiffersFromThePaperAndSoDoTheirRuns) {
  const auto plan = write_table();
  auto other = plan.runs.front();
  other.recipe.train.batch = 64;
  write_run({other.folder}, other.recipe, {0.1, 0.1, 0.1});
  const auto notes = report()["tables"][0]["notes"].dump();
  EXPECT_NE(notes.find("3 epochs instead of 10"), std::string::npos) << notes;
  EXPECT_NE(notes.find("recorded with train.batch = 64 instead of 128"), std::string::npos) << notes;
  EXPECT_NE(notes.find("These are 6 comparisons"), std::string::npos) << notes;
  EXPECT_NE(notes.find("matched: AdamW"), std::string::npos) << notes;

  Shelf shelf({.root = "runs",
               .runs = [root = root_] { return runs_below(root, true); },
               .attachments = {},
               .live = true});
  const auto id = other.folder.lexically_relative(root_).string();
  const auto changed = shelf.run(id).value();
  EXPECT_EQ(changed["title"], "AdamW");
  const auto differs = changed["details"]["differs"].dump();
  EXPECT_NE(differs.find("3 epochs instead of 10"), std::string::npos) << differs;
  EXPECT_NE(differs.find("train.batch = 64"), std::string::npos) << differs;
  const auto unchanged = shelf.run("table1-3-epochs/cifar100/sadam-k2.matched/seed-2").value();
  EXPECT_EQ(unchanged["title"], "S-Adam k=2, authors' code, matched");
  EXPECT_EQ(unchanged["details"]["differs"].dump().find("train.batch"), std::string::npos);
}

TEST_F(PageTables, CountNoRunWhoseEventsAreDamagedAndSaySo) {
  const auto plan = write_table();
  sadam::testing::append(train::RunPaths{plan.runs.front().folder}.events(), "garbage\n");
  const auto table = report()["tables"][0];
  EXPECT_EQ(row(table, "adamw")["cells"][0]["seeds"], 2);
  EXPECT_EQ(row(table, "sadam-k2")["cells"][0]["less_baseline"]["pairs"].size(), 2U);
  EXPECT_NE(table["notes"].dump().find("is not an event"), std::string::npos);
}

TEST_F(PageTables, AFolderThatOnlySoundsLikeATableIsNone) {
  for (const char* name :
       {"table1x/cifar100/adamw/seed-1", "table1-0-epochs/cifar100/adamw/seed-1",
        "table1--epochs/cifar100/adamw/seed-1", "table1/a/b/c", "table9/cifar100/adamw/seed-1"})
    write_run(paths(name), sadam::testing::recipe_with({}), {0.5});
  EXPECT_TRUE(report()["tables"].empty()) << report()["tables"];
}

}  // namespace
}  // namespace sadam::page
