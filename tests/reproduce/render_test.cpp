#include "reproduce/render.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/text.h"
#include "report/run_list.h"
#include "reproduce/results.h"
#include "support/fake_runs.h"
#include "support/refusal.h"

namespace sadam::reproduce {
namespace {

constexpr double kEpochSeconds = 10.0123456789;

// A run as the trainer leaves it: one epoch for each accuracy.
void write_run(const PlannedRun& run, const std::vector<double>& accuracies, double brake) {
  auto recipe = run.recipe;
  recipe.train.epochs = static_cast<std::int64_t>(accuracies.size());
  std::vector<train::Event> events;
  train::StepEvent step;
  train::EpochEvent epoch;
  for (const double accuracy : accuracies) {
    step.step = ++epoch.step;
    step.epoch = ++epoch.epoch;
    step.brake = brake;
    step.probed = true;
    events.emplace_back(step);
    epoch.test_accuracy = accuracy;
    epoch.train_seconds += kEpochSeconds;
    events.emplace_back(epoch);
  }
  sadam::testing::write_events({run.folder}, recipe, events);
}

Plan plan_in(const std::filesystem::path& root, std::vector<std::int64_t> seeds) {
  Request request;
  request.root = root;
  request.seeds = std::move(seeds);
  request.only = {"cifar100/adamw", "cifar100/sadam-k2"};
  return make_plan(find_table("table1"), request);
}

TEST(Render, PutsThePapersNumberBesideMeanDeviationBestAndLast) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1, 2});
  for (const auto& run : plan.runs) {
    if (run.control != Control::none) continue;
    const bool adamw = plan.table.rows[run.row].key == "adamw";
    const double shift = run.seed == 1 ? 0 : 0.02;
    write_run(run, adamw ? std::vector{0.10, 0.16 + shift, 0.09} : std::vector{0.15, 0.17, 0.18 + shift},
              0.5);
  }
  const auto text = to_report(plan, {}, {});
  EXPECT_NE(text.find("15.94"), std::string::npos);            // the paper
  EXPECT_NE(text.find("17.00 ± 1.41"), std::string::npos);     // AdamW's best over the seeds
  EXPECT_NE(text.find("9.00 ± 0.00"), std::string::npos);      // its last
  EXPECT_NE(text.find("16.15 %"), std::string::npos) << text;  // 95 % of 17
  // AdamW reaches it in epoch 2 with seed 2 only.
  EXPECT_NE(text.find("20.0 (1 of 2)"), std::string::npos) << text;
  EXPECT_NE(text.find("What differs from the paper"), std::string::npos);
  EXPECT_NE(text.find("CIFAR-100, 2 bits; 2 seeds\n"), std::string::npos) << text;
}

// The value of a column in a row of the table for programs.
report::Value value_in(const report::TextTable& flat, std::size_t row, const std::string& key) {
  for (std::size_t i = 0; i < flat.columns.size(); ++i)
    if (flat.columns[i].key == key) return flat.rows.at(row).at(i).value;
  throw std::runtime_error("no column " + key);
}

// Two seeds with differences of 1 and 2 points: mean 1.5, standard error 0.5, t(1) = 12.71.
TEST(Render, ComparesMethodsSeedBySeed) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1, 2});
  for (const auto& run : plan.runs) {
    const bool s_adam = run.control == Control::none && plan.table.rows[run.row].key == "sadam-k2";
    const double of_seed = run.seed == 1 ? 0.10 : 0.30;  // far more than what the method makes
    write_run(run, {of_seed + (s_adam ? 0.01 * static_cast<double>(run.seed) : 0), of_seed}, 0.5);
  }
  const auto differences = render(plan).at(0).differences;
  // AdamW less cosine; S-Adam less AdamW, matched, shuffled, cosine.
  ASSERT_EQ(differences.rows.size(), 5U);
  EXPECT_EQ(differences.rows[0][2].text, "+0.00 ± 0.00");
  for (std::size_t row = 1; row < 5; ++row) {
    EXPECT_EQ(differences.rows[row][0].text, row == 1 ? "S-Adam k=2, authors' code" : "");
    EXPECT_EQ(differences.rows[row][2].text, "+1.50 ± 6.35");
    EXPECT_EQ(differences.rows[row][3].text, "+0.00 ± 0.00");
  }
  EXPECT_EQ(differences.rows[2][1].text, "matched");
  EXPECT_NE(to_report(plan, {}, {}).find("Seed by seed"), std::string::npos);
}

// Two columns, their mean, and a row with a baseline of its own.
constexpr const char* kWithMean =
    "[table]\ntitle = 't'\nseeds = [1, 2, 3]\nbaseline = 'a'\n"
    "[[table.column]]\nkey = 'low'\ntitle = 'low'\nset = ['optimizer.lr = 1e-4']\n"
    "[[table.column]]\nkey = 'high'\ntitle = 'high'\nset = ['optimizer.lr = 1e-2']\n"
    "[[table.mean]]\nkey = 'both'\ntitle = 'mean of both'\ncolumns = ['low', 'high']\n"
    "[[table.row]]\nkey = 'a'\ntitle = 'A'\nset = [\"optimizer.name = 'adamw'\"]\n"
    "[[table.row]]\nkey = 's'\ntitle = 'S'\n"
    "[[table.row]]\nkey = 't'\ntitle = 'T'\nbaseline = 's'\ncontrols = false\n";

class RenderMean : public ::testing::Test {
 protected:
  Plan plan(const std::optional<std::string>& baseline = {}) const {
    Request request;
    request.root = folder_.path();
    request.controls = {Control::matched};
    request.baseline = baseline;
    return make_plan(read_table(kWithMean, "own", "own.toml"), request);
  }
  static std::string name_of_run(const Plan& plan, const PlannedRun& run) {
    return fmt::format("{}{}/{}", run.cell(plan.table), run.control == Control::none ? "" : ".matched",
                       run.seed);
  }
  // Accuracies of 10 % for A; S is above it by the seed in points in one column and by thrice that in the
  // other; T is a point above S; the control is as A.
  void write_all(const std::function<bool(const std::string&)>& is_there = [](const auto&) { return true; }) {
    const auto all = plan();
    for (const auto& run : all.runs) {
      if (!is_there(name_of_run(all, run))) continue;
      const auto times = run.column == 0 ? 0.01 : 0.03;
      const auto gain = run.row == 0 || run.control != Control::none
                            ? 0
                            : times * static_cast<double>(run.seed) + (run.row == 2 ? 0.01 : 0);
      write_run(run, {0.5, 0.1 + gain}, run.column == 0 ? 0.2 : 0.4);
    }
  }
  static std::string cell(const report::TextTable& table, std::size_t row, const std::string& key) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].key == key) return table.rows.at(row).at(i).text;
    return "no column " + key;
  }

  TemporaryFolder folder_;
};

TEST_F(RenderMean, AveragesEachSeedOverItsColumnsAndComparesTheMeans) {
  write_all();
  const auto blocks = render(plan());
  ASSERT_EQ(blocks.size(), 3U);
  const auto& mean = blocks[2];
  EXPECT_EQ(mean.title, "mean of both; 3 seeds");
  EXPECT_EQ(mean.convergence, "");
  ASSERT_EQ(mean.table.rows.size(), 4U);  // A, S, its control, T
  EXPECT_EQ(cell(mean.table, 0, "last"), "10.00 ± 0.00");
  EXPECT_EQ(cell(mean.table, 1, "last"), "14.00 ± 2.00");  // gains of 2, 4 and 6 points
  EXPECT_EQ(cell(mean.table, 1, "best"), "50.00 ± 0.00");
  EXPECT_EQ(cell(mean.table, 1, "mean_brake"), "0.300");
  EXPECT_EQ(cell(mean.table, 2, "method"), "  matched");
  EXPECT_EQ(cell(mean.table, 3, "last"), "15.00 ± 2.00");
  EXPECT_EQ(cell(mean.table, 0, "convergence_seconds"), "no column convergence_seconds");
  EXPECT_EQ(cell(mean.table, 0, "wall_seconds"), "no column wall_seconds");
  // S less A and less its control; T less S, its own baseline.
  ASSERT_EQ(mean.differences.rows.size(), 3U);
  EXPECT_EQ(cell(mean.differences, 0, "less"), "A");
  EXPECT_EQ(cell(mean.differences, 0, "last"), "+4.00 ± 4.97");  // deviation 2, t(2) = 4.303
  EXPECT_EQ(cell(mean.differences, 1, "less"), "matched");
  EXPECT_EQ(cell(mean.differences, 2, "method"), "T");
  EXPECT_EQ(cell(mean.differences, 2, "less"), "S");
  EXPECT_EQ(cell(mean.differences, 2, "last"), "+1.00 ± 0.00");
}

TEST_F(RenderMean, ABaselineThatIsAskedForIsThatOfEveryRow) {
  write_all();
  for (const auto& block : render(plan("t"))) {
    ASSERT_EQ(block.differences.rows.size(), 3U);  // A less T; S less its control and less T
    for (const std::size_t row : {0U, 2U}) EXPECT_EQ(cell(block.differences, row, "less"), "T");
    EXPECT_EQ(cell(block.differences, 2, "last"), "-1.00 ± 0.00");
  }
  EXPECT_NE(render(plan("t"))[0].convergence.find("of T's best"), std::string::npos);
}

TEST_F(RenderMean, HasOnlySeedsThatAreFinishedInAllColumnsAndMethodsThatAllHave) {
  write_all([](const auto& run) { return run != "high/s/2" && !run.starts_with("low/t/"); });
  const auto all = plan();
  for (const auto& run : all.runs)
    if (name_of_run(all, run) == "low/a/1")
      std::ofstream(run.folder / "run.toml") << train::to_toml(run.recipe);  // of more epochs
  const auto flat = to_flat(all);
  std::vector<std::string> means;
  for (std::size_t row = 0; row < flat.rows.size(); ++row)
    if (value_in(flat, row, "column") == report::Value("both"))
      means.push_back(fmt::format("{} {} {}", std::get<std::string>(value_in(flat, row, "method")),
                                  std::get<std::string>(value_in(flat, row, "control")),
                                  std::get<std::int64_t>(value_in(flat, row, "seeds"))));
  EXPECT_EQ(means, (std::vector<std::string>{"a none 2", "s none 2", "s matched 3"}));
  const auto differences = render(all).at(2).differences;
  ASSERT_EQ(differences.rows.size(), 1U);  // S less its control; S and A have one seed in common
  EXPECT_EQ(cell(differences, 0, "last"), "+4.00 ± 25.41");  // gains of 2 and 6 points
}

TEST_F(RenderMean, ProgramsGetItAsAColumnWithoutTimes) {
  write_all();
  const auto flat = to_flat(plan());
  ASSERT_EQ(flat.rows.size(), 12U);
  EXPECT_EQ(value_in(flat, 9, "column"), report::Value("both"));
  EXPECT_EQ(value_in(flat, 9, "method"), report::Value("s"));
  EXPECT_EQ(value_in(flat, 9, "finished"), report::Value(true));
  EXPECT_NEAR(std::get<double>(value_in(flat, 9, "last_mean")), 14, 1e-9);
  EXPECT_NEAR(std::get<double>(value_in(flat, 9, "last_deviation")), 2, 1e-9);
  EXPECT_NEAR(std::get<double>(value_in(flat, 9, "brake_mean")), 0.3, 1e-9);
  for (const char* nothing : {"convergence_target", "convergence_seconds_mean", "converged_seeds",
                              "never_converged", "wall_seconds_mean", "peak_memory", "paper_best"})
    EXPECT_EQ(value_in(flat, 9, nothing), report::Value()) << nothing;
}

TEST_F(RenderMean, IsNotThereWhereAColumnIsNot) {
  write_all([](const auto& run) { return run.starts_with("low/"); });
  EXPECT_EQ(render(plan()).size(), 1U);
}

TEST(Render, RunsReadBackFromAListGiveTheSameTable) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1, 2});
  for (const auto& run : plan.runs)
    write_run(run, {0.10, 0.16 + 0.01 * static_cast<double>(run.seed), 0.09}, 0.5);
  for (const auto& run : plan.runs) sadam::testing::add_irregular_steps({run.folder});
  const auto noise = read_groups(plan).irregularities().back();
  ASSERT_NE(noise.find("(1 of 5)"), std::string::npos) << noise;
  report::RunQuery query;
  query.root = folder.path();
  const auto list = to_csv(report::list_runs(query).full);
  const auto recorded = with_recorded(plan, report::runs_in_csv(list, "runs.csv"), folder.path());
  std::filesystem::remove_all(folder.path() / "table1");
  ASSERT_TRUE(render(plan).empty());
  EXPECT_EQ(read_groups(recorded).irregularities().back(), noise);
  const auto again = to_report(recorded, {}, {});
  EXPECT_NE(again.find("20.0"), std::string::npos) << again;  // seconds until AdamW converges
  EXPECT_NE(again.find("recorded with train.epochs = 3 instead of 10"), std::string::npos) << again;
  for (const auto& run : plan.runs) {
    write_run(run, {0.10, 0.16 + 0.01 * static_cast<double>(run.seed), 0.09}, 0.5);
    sadam::testing::add_irregular_steps({run.folder});
  }
  EXPECT_EQ(to_csv(to_flat(recorded)), to_csv(to_flat(plan)));
}

TEST(Render, RecordedRunsOfSeveralDevicesAreSaidToBe) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1, 2});
  for (const auto& run : plan.runs) write_run(run, {0.10, 0.16}, 0.5);
  report::RunQuery query;
  query.root = folder.path();
  auto runs = report::runs_in_csv(to_csv(report::list_runs(query).full), "runs.csv");
  const auto said = [&] { return to_report(with_recorded(plan, runs, folder.path()), {}, {}); };
  EXPECT_EQ(said().find("several devices"), std::string::npos);
  runs.front().recipe->train.device = "";  // a list without devices
  EXPECT_EQ(said().find("several devices"), std::string::npos);
  for (auto& run : runs) run.recipe->train.device = "cuda";
  runs.front().recipe->train.device = "cuda:1";
  EXPECT_EQ(said().find("several devices"), std::string::npos);
  for (auto& run : runs) run.recipe->train.device = "cpu";
  runs.front().recipe->train.device = "cuda";
  const auto both = fmt::format("runs of several devices: {} on cpu, 1 on cuda\n", runs.size() - 1);
  EXPECT_NE(said().find(both), std::string::npos) << said();
}

TEST(Render, AListOfOtherRunsIsRefusedAndSoIsWhatIsNoList) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1});
  EXPECT_NE(
      sadam::testing::refusal([&] { with_recorded(plan, {}, folder.path()); }).find("no runs of table1"),
      std::string::npos);
  for (const std::string text : {"", "a,b\n1,2\n", "name,state\nx,finished\ny\n", "name,state\nx,odd\n",
                                 "name,state,best\nx,finished,1e\n"})
    EXPECT_NE(sadam::testing::refusal([&] { report::runs_in_csv(text, "runs.csv"); }).find("runs.csv"),
              std::string::npos)
        << text;
}

TEST(Render, AListThatASpreadsheetOrAnEditorSavedIsTheSame) {
  const std::string list =
      "name,state,best,data.name\n\"a, \"\"b\"\"\",finished,25,\"folder:x,y\"\nc,unknown,,\n";
  std::string other = "\xEF\xBB\xBF";
  for (const char letter : list) other += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  for (const auto& text : {list, other, list + "\n\n", list.substr(0, list.size() - 1)}) {
    const auto runs = report::runs_in_csv(text, "runs.csv");
    ASSERT_EQ(runs.size(), 2U) << text;
    EXPECT_EQ(runs[0].name, "a, \"b\"");
    EXPECT_EQ(runs[0].best_accuracy, 0.25);
    EXPECT_EQ(runs[0].recipe->data.name, "folder:x,y");
    EXPECT_EQ(runs[1].state, report::RunState::unknown);
    EXPECT_FALSE(runs[1].recipe);
  }
}

TEST(Render, OneSeedIsComparedWithNothing) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1});
  for (const auto& run : plan.runs) write_run(run, {0.2}, 0.5);
  EXPECT_TRUE(render(plan).at(0).differences.rows.empty());
  EXPECT_EQ(to_report(plan, {}, {}).find("Seed by seed"), std::string::npos);
}

TEST(Render, AMethodThatNeverConvergesHasAStarForPeopleAndATruthForPrograms) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1});
  for (const auto& run : plan.runs) {
    if (run.control != Control::none) continue;
    write_run(run, {plan.table.rows[run.row].key == "adamw" ? 0.5 : 0.1}, 0.5);
  }
  const auto block = render(plan).at(0).table;
  const auto converged =
      std::find_if(block.columns.begin(), block.columns.end(),
                   [](const auto& column) { return column.key == "convergence_seconds"; }) -
      block.columns.begin();
  EXPECT_EQ(block.rows.at(0)[static_cast<std::size_t>(converged)].text, "10.0");
  EXPECT_EQ(block.rows.at(1)[static_cast<std::size_t>(converged)].text, "∗");
  const auto flat = to_flat(plan);
  EXPECT_EQ(value_in(flat, 0, "never_converged"), report::Value(false));
  EXPECT_EQ(value_in(flat, 0, "convergence_seconds_mean"), report::Value(kEpochSeconds));
  EXPECT_EQ(value_in(flat, 1, "never_converged"), report::Value(true));
  EXPECT_EQ(value_in(flat, 1, "convergence_seconds_mean"), report::Value());
}

TEST(Render, ProgramsGetKeysAndNumbersAndNothingToTakeApart) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1, 2});
  for (const auto& run : plan.runs) write_run(run, {0.2, 0.1 + 0.01 * static_cast<double>(run.seed)}, 0.5);
  const auto flat = to_flat(plan);
  // AdamW, S-Adam, its two controls, cosine.
  ASSERT_EQ(flat.rows.size(), 5U);
  EXPECT_EQ(value_in(flat, 1, "method"), report::Value("sadam-k2"));
  EXPECT_EQ(value_in(flat, 1, "control"), report::Value("none"));
  EXPECT_EQ(value_in(flat, 1, "column"), report::Value("cifar100"));
  EXPECT_EQ(value_in(flat, 1, "paper_best"), report::Value(18.11));
  EXPECT_EQ(value_in(flat, 1, "paper_convergence_seconds"), report::Value(14.33));
  EXPECT_EQ(value_in(flat, 1, "best_mean"), report::Value(20.0));
  EXPECT_EQ(value_in(flat, 1, "best_deviation"), report::Value(0.0));
  EXPECT_NEAR(std::get<double>(value_in(flat, 1, "last_mean")), 11.5, 1e-9);
  EXPECT_NEAR(std::get<double>(value_in(flat, 1, "last_deviation")), 0.7071, 1e-3);
  EXPECT_EQ(value_in(flat, 1, "seeds"), report::Value(std::int64_t{2}));
  EXPECT_EQ(value_in(flat, 2, "method"), report::Value("sadam-k2"));
  EXPECT_EQ(value_in(flat, 2, "control"), report::Value("matched"));
  EXPECT_EQ(value_in(flat, 2, "paper_best"), report::Value());
  EXPECT_EQ(value_in(flat, 4, "method"), report::Value("adamw"));
  EXPECT_EQ(value_in(flat, 4, "control"), report::Value("cosine"));
  // The same columns without a single run.
  EXPECT_EQ(to_csv(to_flat(plan_in(folder.path() / "empty", {1}))),
            to_csv(report::TextTable{flat.columns, {}}));
}

TEST(Render, PutsThePapersTimeAndMemoryBesideOurs) {
  const TemporaryFolder folder;
  Request request;
  request.root = folder.path();
  request.seeds = {1};
  request.only = {"cifar10-b64/adamw"};
  const auto plan = make_plan(find_table("table4"), request);
  for (const auto& run : plan.runs) write_run(run, {0.5}, 1);
  const auto text = to_report(plan, {}, {.width = 200});
  EXPECT_NE(text.find("paper, total s"), std::string::npos) << text;
  EXPECT_NE(text.find("2195.46"), std::string::npos) << text;
  EXPECT_NE(text.find("paper, MB"), std::string::npos) << text;
  EXPECT_NE(text.find("3552.21"), std::string::npos) << text;
  const auto flat = to_flat(plan);
  EXPECT_EQ(value_in(flat, 0, "paper_wall_seconds"), report::Value(2195.456));
  EXPECT_EQ(value_in(flat, 0, "paper_memory_mb"), report::Value(3552.21));
  EXPECT_EQ(value_in(flat, 0, "paper_convergence_seconds"), report::Value());
}

TEST(Render, LeavesOutColumnsOfWhichNothingIsKnown) {
  const TemporaryFolder folder;
  Request request;
  request.root = folder.path();
  const auto plan =
      make_plan(read_table("[table]\ntitle = 't'\nseeds = [1]\n[[table.column]]\nkey = 'c'\ntitle = 'c'\n"
                           "[[table.row]]\nkey = 'a'\ntitle = 'a'\nset = [\"optimizer.name = 'adamw'\"]\n",
                           "own", "own.toml"),
                request);
  write_run(plan.runs.front(), {0.1}, 1);
  const auto text = to_report(plan, {}, {});
  EXPECT_EQ(text.find("paper"), std::string::npos) << text;
  EXPECT_EQ(text.find("converged"), std::string::npos) << text;
  EXPECT_EQ(text.find("brake"), std::string::npos) << text;
  EXPECT_EQ(text.find("–"), std::string::npos) << text;
}

TEST(Render, SaysWhichRunsSkippedSteps) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1});
  for (const auto& run : plan.runs) write_run(run, {0.1, 0.2}, 0.5);
  EXPECT_EQ(to_report(plan, {}, {}).find("skipped"), std::string::npos);
  train::StepEvent step;
  step.step = 3;
  step.epoch = 2;
  step.skipped = true;
  std::ofstream(plan.runs.front().folder / "events.jsonl", std::ios::app) << train::to_line(step);
  const auto text = to_report(plan, {}, {});
  EXPECT_NE(text.find("not finite: cifar100/adamw, seed 1 (1 of 3)."), std::string::npos) << text;
  EXPECT_EQ(value_in(to_flat(plan), 0, "skipped_steps"), report::Value(std::int64_t{1}));
}

TEST(Render, FitsATerminal) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1, 2});
  for (const auto& run : plan.runs) write_run(run, {0.1, 0.2}, 0.5);
  for (const std::size_t width : {60, 80, 100}) {
    std::istringstream lines(to_report(plan, {}, {.width = width}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(base::display_width(line), width) << line;
  }
}

TEST(Render, ShowsWhatIsThereAndSaysWhatIsUnfinished) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1});
  EXPECT_TRUE(render(plan).empty());
  write_run(plan.runs.front(), {0.1, 0.2}, 1);
  std::ofstream(plan.runs.front().folder / "run.toml")
      << train::to_toml(plan.runs.front().recipe);  // ten epochs
  const auto text = to_report(plan, {}, {});
  EXPECT_NE(text.find("(unfinished)"), std::string::npos) << text;
}

}  // namespace
}  // namespace sadam::reproduce
