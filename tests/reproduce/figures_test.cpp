#include "reproduce/figures.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "base/usage_error.h"
#include "report/run_list.h"
#include "support/files.h"

namespace sadam::reproduce {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::text_of_file;

std::vector<Figure> figures_of(std::vector<std::string> only) {
  Request request;
  request.only = std::move(only);
  request.seeds = {1, 2};
  return plan_figures(built_in_figures(), request);
}

Figure figure_of(std::vector<std::string> only) {
  const auto figures = figures_of(std::move(only));
  if (figures.size() != 1) throw std::runtime_error("the test asks for one figure");
  return figures.front();
}

TEST(Figures, AFigureIsMadeOfTheRunsOfItsTable) {
  Request request;
  std::set<std::filesystem::path> trained;
  for (const auto* table : {"table1", "table4"})
    for (const auto& run : make_plan(find_table(table), request).runs) trained.insert(run.folder);
  const auto all = plan_figures(built_in_figures(), request);
  ASSERT_EQ(all.size(), 2U);
  for (const auto& figure : all)
    for (const auto& run : figure.plan.runs) EXPECT_TRUE(trained.contains(run.folder)) << run.folder;
  // Two columns, three seeds; four methods, two controls for two of them, one cosine.
  EXPECT_EQ(all[0].plan.runs.size(), 2U * 3U * (4U + 4U + 1U));
  // Nine columns, three seeds; four methods, two controls for one of them, one cosine.
  EXPECT_EQ(all[1].plan.runs.size(), 9U * 3U * (4U + 2U + 1U));
}

TEST(Figures, OnlyTakesFiguresColumnsAndRows) {
  EXPECT_EQ(figures_of({"quantization"}).size(), 1U);
  EXPECT_EQ(figure_of({"quantization"}).plan.table.columns.size(), 2U);
  EXPECT_EQ(figure_of({"cifar100"}).plan.table.columns.size(), 1U);
  EXPECT_EQ(figure_of({"cifar100/adamw"}).plan.runs.size(), 2U);
  EXPECT_EQ(figure_of({"quantization/cifar100/adamw"}).plan.runs.size(), 2U);
  EXPECT_EQ(figure_of({"small-batches/adamw"}).plan.runs.size(), 9U * 2U);
  EXPECT_EQ(figures_of({"adamw"}).size(), 2U);
  EXPECT_EQ(figures_of({"quantization", "cifar10-b4"}).size(), 2U);
}

TEST(Figures, OursAreDrawnOnlyWhereTheyAreNamed) {
  EXPECT_EQ(figure_of({"rivals"}).plan.table.columns.size(), 2U);
  EXPECT_EQ(figure_of({"rivals/cifar100"}).plan.table.columns.size(), 1U);
  EXPECT_EQ(figure_of({"cifar100"}).recipe.key, "quantization");
}

TEST(Figures, OnlyRefusesWhatIsNoFigureColumnOrRow) {
  for (const auto* name :
       {"quantisation", "cifar100/quantization", "imagenet", "small-batches/cifar100", ""}) {
    const auto sentence = refusal<UsageError>([&] { figures_of({"cifar100", name}); });
    EXPECT_TRUE(says(sentence, std::string("--only ") + name + ": there is no such figure, column or row"));
  }
  EXPECT_TRUE(says(refusal<UsageError>([] { figures_of({"quantisation"}); }), "'quantization'"));
}

TEST(Figures, QuickFiguresAreOfBuiltInDataAndDoNotReplaceFullOnes) {
  Request request;
  request.quick = true;
  const auto quick = plan_figures(built_in_figures(), request);
  ASSERT_EQ(quick.size(), 2U);
  EXPECT_EQ(quick[0].name, "quantization-quick");
  EXPECT_EQ(quick[1].name, "small-batches-quick");
  for (const auto& figure : quick)
    for (const auto& run : figure.plan.runs)
      EXPECT_TRUE(run.recipe.data.name.starts_with("synthetic")) << run.folder;
  request.quick = false;
  request.epochs = 3;
  EXPECT_EQ(plan_figures(built_in_figures(), request)[0].name, "quantization-3-epochs");
}

// --quick and --only show some of the columns: what is true of those that are left out stands in their
// titles.
TEST(Figures, TitlesNameNothingThatIsNotShown) {
  for (const bool quick : {false, true}) {
    Request request;
    request.quick = quick;
    for (const auto& figure : plan_figures(built_in_figures(), request)) {
      auto title = figure.recipe.title;
      if (const auto at = title.find("ResNet-18"); at != std::string::npos) title.erase(at, 9);
      EXPECT_EQ(title.find_first_of("0123456789"), std::string::npos) << title;
    }
    auto title = make_plan(find_table("table4"), request).table.title;
    EXPECT_EQ(title, "Table 4: ResNet-18 by batch size, best test accuracy");
  }
}

TEST(Figures, ShowWhatTheirTablesHave) {
  const std::vector<std::string> measures = {"test_accuracy", "train_loss", "test_loss"};
  for (const auto& figure : built_in_figures()) {
    const auto table = find_table(figure.table);
    for (const auto& key : figure.columns) EXPECT_TRUE(contains(keys_of(table.columns), key)) << key;
    for (const auto& key : figure.rows) EXPECT_TRUE(contains(keys_of(table.rows), key)) << key;
    EXPECT_FALSE(figure.measures.empty()) << figure.key;
    for (const auto& key : figure.measures) EXPECT_TRUE(contains(measures, key)) << key;
  }
}

// (The test runs in the root of the source.) Its seeds are the recipe's.
TEST(Figures, TheReadmesPictureIsDrawnFromTheRunsOfTheRepository) {
  const sadam::testing::TemporaryFolder folder;
  Request request;
  request.only = {"rivals"};
  request.root = folder.path();
  auto figure = plan_figures(built_in_figures(), request).front();
  figure.plan = with_recorded(std::move(figure.plan), report::read_runs_csv("docs/results/rivals-runs.csv"),
                              request.root);
  const auto files = write_figure(figure, read_groups(figure.plan), folder.path());
  EXPECT_TRUE(text_of_file(files.picture) == text_of_file("docs/images/rivals.svg"))
      << "draw it anew: sadam reproduce curves --only rivals --from-csv docs/results/rivals-runs.csv";
}

}  // namespace
}  // namespace sadam::reproduce
