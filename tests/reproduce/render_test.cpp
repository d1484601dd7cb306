#include "reproduce/render.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary_folder.h"
#include "train/recipe/source.h"
#include "train/record/events.h"

namespace sadam::reproduce {
namespace {

// A run as the trainer leaves it: one epoch for each accuracy, ten seconds each.
void write_run(const PlannedRun& run, const std::vector<double>& accuracies, double brake) {
  std::filesystem::create_directories(run.folder);
  auto recipe = run.recipe;
  recipe.train.epochs = static_cast<std::int64_t>(accuracies.size());
  std::ofstream(run.folder / "run.toml") << train::to_toml(recipe);
  train::EventWriter events(run.folder / "events.jsonl", 0);
  train::StepEvent step;
  train::EpochEvent epoch;
  for (const double accuracy : accuracies) {
    step.step = ++epoch.step;
    step.epoch = ++epoch.epoch;
    step.brake = brake;
    step.probed = true;
    events.write(step);
    epoch.test_accuracy = accuracy;
    epoch.train_seconds += 10;
    events.write(epoch);
  }
  events.sync();
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
  const auto text = to_report(plan, {}, false);
  EXPECT_NE(text.find("15.94"), std::string::npos);            // the paper
  EXPECT_NE(text.find("17.00 ± 1.41"), std::string::npos);     // AdamW's best over the seeds
  EXPECT_NE(text.find("9.00 ± 0.00"), std::string::npos);      // its last
  EXPECT_NE(text.find("16.15 %"), std::string::npos) << text;  // 95 % of 17
  // AdamW reaches it in epoch 2 with seed 2 only.
  EXPECT_NE(text.find("20.0 (1 of 2)"), std::string::npos) << text;
  EXPECT_NE(text.find("What differs from the paper"), std::string::npos);
  EXPECT_NE(text.find("2 seeds"), std::string::npos);
}

TEST(Render, AMethodThatNeverConvergesHasAStar) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1});
  for (const auto& run : plan.runs) {
    if (run.control != Control::none) continue;
    write_run(run, {plan.table.rows[run.row].key == "adamw" ? 0.5 : 0.1}, 0.5);
  }
  const auto flat = to_flat(plan);
  ASSERT_EQ(flat.rows.size(), 2U);
  const auto column =
      static_cast<std::size_t>(std::find_if(flat.columns.begin(), flat.columns.end(),
                                            [](const auto& c) { return c.key == "convergence_seconds"; }) -
                               flat.columns.begin());
  EXPECT_EQ(flat.rows[0][column].text, "10.0");
  EXPECT_EQ(flat.rows[1][column].text, "∗");
}

TEST(Render, ShowsWhatIsThereAndSaysWhatIsUnfinished) {
  const TemporaryFolder folder;
  const auto plan = plan_in(folder.path(), {1});
  EXPECT_TRUE(render(plan).empty());
  write_run(plan.runs.front(), {0.1, 0.2}, 1);
  std::ofstream(plan.runs.front().folder / "run.toml")
      << train::to_toml(plan.runs.front().recipe);  // ten epochs
  const auto text = to_report(plan, {}, false);
  EXPECT_NE(text.find("(unfinished)"), std::string::npos) << text;
}

}  // namespace
}  // namespace sadam::reproduce
