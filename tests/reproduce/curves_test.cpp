#include "reproduce/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "report/picture.h"
#include "support/fake_runs.h"
#include "support/files.h"

namespace sadam::reproduce {
namespace {

struct EpochNumbers {
  double accuracy = 0;
  double train_loss = 0;
};

// A run as the trainer leaves it.
void write_curve(const PlannedRun& run, const std::vector<EpochNumbers>& epochs, bool finished = true) {
  auto recipe = run.recipe;
  if (finished) recipe.train.epochs = static_cast<std::int64_t>(epochs.size());
  std::vector<train::Event> events;
  train::EpochEvent event;
  for (const auto& epoch : epochs) {
    ++event.epoch;
    ++event.step;
    event.test_accuracy = epoch.accuracy;
    event.train_loss = epoch.train_loss;
    event.test_loss = 2 * epoch.train_loss;
    events.emplace_back(event);
  }
  sadam::testing::write_events({run.folder}, recipe, events);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CurvesTest : public ::testing::Test {
 protected:
  // The only figure of which something is asked for.
  Figure figure(std::vector<std::string> only, std::vector<std::int64_t> seeds = {1, 2}) const {
    Request request;
    request.root = folder_.path();
    request.only = std::move(only);
    request.seeds = std::move(seeds);
    auto all = plan_figures(built_in_figures(), request);
    if (all.size() != 1) throw std::runtime_error("the test asks for one figure");
    return all.front();
  }
  const PlannedRun& run_of(const Figure& figure, const std::string& folder, std::int64_t seed) const {
    const auto path = folder_.path() / folder / ("seed-" + std::to_string(seed));
    for (const auto& run : figure.plan.runs)
      if (run.folder == path) return run;
    throw std::runtime_error("no run " + path.string());
  }

  TemporaryFolder folder_;
};

TEST_F(CurvesTest, APointIsMeanAndDeviationOverTheSeedsThatReachedIt) {
  const auto asked = figure({"cifar100/adamw"});
  write_curve(run_of(asked, "table1/cifar100/adamw", 1), {{0.10, 4}, {0.20, 3}, {0.30, 2}});
  write_curve(run_of(asked, "table1/cifar100/adamw", 2), {{0.14, 5}, {0.20, 3}});
  const auto points = to_points(asked, read_groups(asked.plan));
  ASSERT_EQ(points.rows.size(), 3U);
  const auto cell = [&](std::size_t row, const std::string& key) {
    for (std::size_t i = 0; i < points.columns.size(); ++i)
      if (points.columns[i].key == key) return points.rows[row][i].value;
    throw std::runtime_error("no column " + key);
  };
  const auto number = [&](std::size_t row, const std::string& key) {
    return std::get<double>(cell(row, key));
  };
  EXPECT_EQ(cell(0, "epoch"), report::Value(std::int64_t{1}));
  EXPECT_EQ(cell(0, "seeds"), report::Value(std::int64_t{2}));
  EXPECT_NEAR(number(0, "test_accuracy"), 12, 1e-12);
  EXPECT_NEAR(number(0, "test_accuracy_deviation"), std::sqrt(8.0), 1e-12);
  EXPECT_NEAR(number(0, "train_loss"), 4.5, 1e-12);
  EXPECT_NEAR(number(0, "test_loss"), 9, 1e-12);
  EXPECT_NEAR(number(1, "test_accuracy_deviation"), 0, 1e-12);
  EXPECT_EQ(cell(2, "seeds"), report::Value(std::int64_t{1}));
  EXPECT_EQ(cell(2, "test_accuracy_deviation"), report::Value());
}

TEST_F(CurvesTest, CurvesComeByColumnRowAndControlWhicheverSeedsAreThere) {
  const auto asked = figure({"quantization"});
  for (const auto* name : {"tinyimagenet/adamw", "cifar100/adamw.cosine", "cifar100/sadam-k2.shuffled",
                           "cifar100/sadam-k2.matched", "cifar100/sadam-k2"})
    write_curve(run_of(asked, "table1/" + std::string(name), 1), {{0.1, 4}});
  write_curve(run_of(asked, "table1/cifar100/adamw", 2), {{0.1, 4}});
  std::vector<std::string> found;
  for (const auto& line : lines_of(to_csv(to_points(asked, read_groups(asked.plan)))))
    found.push_back(line.substr(0, line.find(",1,1,")));
  EXPECT_EQ(found, (std::vector<std::string>{
                       "figure,column,row,control,epoch,seeds,test_accuracy,test_accuracy_"
                       "deviation,train_loss,train_loss_deviation,test_loss,test_loss_"
                       "deviation",
                       "quantization,cifar100,adamw,none", "quantization,cifar100,sadam-k2,none",
                       "quantization,cifar100,sadam-k2,matched", "quantization,cifar100,sadam-k2,shuffled",
                       "quantization,cifar100,adamw,cosine", "quantization,tinyimagenet,adamw,none"}));
}

TEST_F(CurvesTest, WritesThePictureAndItsNumbersInsteadOfEarlierOnes) {
  const auto asked = figure({"cifar100/adamw"});
  for (const double accuracy : {0.25, 0.5}) {
    for (const std::int64_t seed : {1, 2})
      write_curve(run_of(asked, "table1/cifar100/adamw", seed), {{accuracy, 4}});
    const auto files = write_figure(asked, read_groups(asked.plan), folder_.path());
    EXPECT_EQ(files.picture, folder_.path() / "quantization.svg");
    const auto lines = lines_of(sadam::testing::text_of_file(files.numbers));
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1], accuracy < 0.3 ? "quantization,cifar100,adamw,none,1,2,25,0,4,0,8,0"
                                       : "quantization,cifar100,adamw,none,1,2,50,0,4,0,8,0");
    EXPECT_EQ(sadam::testing::text_of_file(files.picture),
              to_svg(to_picture(asked, read_groups(asked.plan))));
  }
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    left.insert(entry.path().filename());
  std::set<std::string> wanted = {"quantization.csv", "quantization.svg", "table1"};
  if (report::draws_pdf()) wanted.insert("quantization.pdf");
  EXPECT_EQ(left, wanted);
}

TEST_F(CurvesTest, ALossThatIsNotANumberIsLeftBlankAndNotAveragedAway) {
  const auto asked = figure({"cifar100/adamw"});
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  write_curve(run_of(asked, "table1/cifar100/adamw", 1), {{0.1, 4}, {0.01, nan}});
  write_curve(run_of(asked, "table1/cifar100/adamw", 2), {{0.1, 4}, {0.01, 5}});
  const auto curves = read_groups(asked.plan);
  const auto lines = lines_of(to_csv(to_points(asked, curves)));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[2], "quantization,cifar100,adamw,none,2,2,1,0,,,,");
  EXPECT_FALSE(has_text(to_svg(to_picture(asked, curves)), "nan"));
}

TEST_F(CurvesTest, OfTheQuantizationFigureEachColumnHasAccuracyAndLossSideBySide) {
  const auto asked = figure({"quantization"}, {1});
  for (const auto* name : {"cifar100/adamw", "cifar100/sadam-k8", "tinyimagenet/adamw"})
    write_curve(run_of(asked, "table1/" + std::string(name), 1), {{0.1, 4}, {0.2, 3}});
  const auto picture = to_picture(asked, read_groups(asked.plan));
  ASSERT_EQ(picture.rows.size(), 2U);
  for (const auto& row : picture.rows) ASSERT_EQ(row.panels.size(), 2U);
  const auto& accuracy = picture.rows[0].panels[0];
  const auto& loss = picture.rows[0].panels[1];
  EXPECT_EQ(accuracy.titles.above, "CIFAR-100, 2 bits: test accuracy");
  EXPECT_EQ(loss.titles.above, "CIFAR-100, 2 bits: training loss");
  EXPECT_EQ(accuracy.titles.y, "test accuracy, %");
  EXPECT_EQ(loss.titles.y, "training loss");
  EXPECT_EQ(picture.rows[1].panels[1].titles.above, "TinyImageNet, 4 bits: training loss");
  ASSERT_EQ(accuracy.curves.size(), 2U);
  EXPECT_EQ(accuracy.curves[0].points[1].y, 20);
  EXPECT_EQ(loss.curves[0].points[1].y, 3);
  EXPECT_EQ(picture.subtitle, "One seed");
}

TEST_F(CurvesTest, OfTheSmallBatchesFigureThereIsASquareOfNineLosses) {
  const auto asked = figure({"small-batches"}, {1});
  for (const auto& column : asked.plan.table.columns)
    write_curve(run_of(asked, "table4/" + column.key + "/adamw", 1), {{0.1, 4}});
  const auto rows = to_picture(asked, read_groups(asked.plan)).rows;
  ASSERT_EQ(rows.size(), 3U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.panels.size(), 3U);
    for (const auto& panel : row.panels) EXPECT_EQ(panel.titles.y, "training loss");
  }
  EXPECT_EQ(rows[0].panels[1].titles.above, "CIFAR-100, batch 16");
  EXPECT_EQ(rows[1].panels[0].titles.above, "CIFAR-10, batch 4");
}

TEST_F(CurvesTest, AControlIsAThinLineInTheColourOfItsMethodWhateverElseIsShown) {
  const auto style_of_all = [&](const Figure& asked) {
    std::map<std::string, report::LineStyle> styles;
    const auto rows = to_picture(asked, read_groups(asked.plan)).rows;
    for (const auto& curve : rows.at(0).panels.at(0).curves) {
      styles[curve.name] = curve.style;
      EXPECT_EQ(curve.reach.empty(), curve.style.stroke != report::Stroke::solid) << curve.name;
    }
    return styles;
  };
  const auto asked = figure({"cifar100"}, {1});
  for (const auto& run : asked.plan.runs) write_curve(run, {{0.1, 4}});
  const auto styles = style_of_all(asked);
  const std::string k2 = "S-Adam k=2, authors' code";
  ASSERT_EQ(styles.size(), 9U);
  EXPECT_EQ(styles.at(k2).stroke, report::Stroke::solid);
  EXPECT_EQ(styles.at(k2 + ", matched").stroke, report::Stroke::dashed);
  EXPECT_EQ(styles.at(k2 + ", shuffled").stroke, report::Stroke::dotted);
  EXPECT_EQ(styles.at(k2 + ", matched").colour, styles.at(k2).colour);
  EXPECT_NE(styles.at("AdamW").colour, styles.at(k2).colour);
  EXPECT_EQ(styles.at("AdamW, cosine schedule").colour, std::nullopt);
  EXPECT_EQ(style_of_all(figure({"cifar100/sadam-k2"}, {1})).at(k2).colour, styles.at(k2).colour);
  const auto legend = to_picture(asked, read_groups(asked.plan)).legend;
  ASSERT_EQ(legend.size(), 2U);
  EXPECT_EQ(legend[0].size(), 4U);
  EXPECT_EQ(legend[1].size(), 3U);
}

TEST_F(CurvesTest, TheSummaryHasBestItsEpochAndLast) {
  const auto asked = figure({"cifar100/adamw", "cifar100/prox_sgd"});
  write_curve(run_of(asked, "table1/cifar100/adamw", 1), {{0.10, 4}, {0.16, 3}, {0.09, 3.5}});
  write_curve(run_of(asked, "table1/cifar100/adamw", 2), {{0.18, 4}, {0.16, 3}, {0.09, 3.5}});
  write_curve(run_of(asked, "table1/cifar100/prox_sgd", 1), {{0.14, 4}, {0.02, 4.6}}, false);
  const auto report = to_report(asked, read_groups(asked.plan), {{0, "because."}}, {});
  std::string adamw;
  std::string prox;
  for (const auto& line : lines_of(report)) {
    if (line.starts_with("AdamW")) adamw = line;
    if (line.starts_with("Prox-SGD")) prox = line;
  }
  for (const auto* part : {"17.00 ± 1.41", " 1–2 ", "9.00 ± 0.00", "3.50 ± 0.00"})
    EXPECT_TRUE(has_text(adamw, part)) << adamw;
  for (const auto* part : {"(unfinished)", " 14.00 ", " 1 ", " 2.00 ", " 4.60 "})
    EXPECT_TRUE(has_text(prox, part)) << prox;
  EXPECT_TRUE(has_text(report, "CIFAR-100, 2 bits is left out: because.")) << report;
  EXPECT_TRUE(has_text(report, "What differs from the paper:\n- 2 seeds")) << report;
  EXPECT_TRUE(has_text(to_report(asked, read_groups(asked.plan), {}, {.markdown = true}), "| AdamW "))
      << report;
  const auto subtitle = to_picture(asked, read_groups(asked.plan)).subtitle;
  EXPECT_EQ(subtitle, "Mean of 1 to 2 seeds, band ± one deviation; some runs are not finished");
}

TEST_F(CurvesTest, RunsThatAreMissingOrHaveNoEpochGiveNoCurve) {
  const auto asked = figure({"quantization"}, {1});
  EXPECT_TRUE(read_groups(asked.plan).groups.empty());
  EXPECT_TRUE(read_groups(asked.plan).problems.empty());
  write_curve(run_of(asked, "table1/cifar100/adamw", 1), {}, false);
  EXPECT_TRUE(read_groups(asked.plan).groups.empty());
  EXPECT_TRUE(to_picture(asked, read_groups(asked.plan)).rows.empty());
  write_curve(run_of(asked, "table1/tinyimagenet/adamw", 1), {{0.1, 4}});
  EXPECT_EQ(to_picture(asked, read_groups(asked.plan)).rows.at(0).panels.size(), 2U);
}

TEST_F(CurvesTest, ADamagedRunIsSaidToBe) {
  const auto asked = figure({"cifar100/adamw"});
  write_curve(run_of(asked, "table1/cifar100/adamw", 1), {{0.1, 4}});
  const auto& damaged = run_of(asked, "table1/cifar100/adamw", 2);
  write_curve(damaged, {{0.2, 4}});
  std::ofstream(damaged.folder / "events.jsonl") << "no event\n";
  const auto curves = read_groups(asked.plan);
  ASSERT_EQ(curves.groups.size(), 1U);
  EXPECT_EQ(curves.groups[0].runs.size(), 1U);
  ASSERT_EQ(curves.problems.size(), 1U);
  EXPECT_TRUE(has_text(to_report(asked, curves, {}, {}), curves.problems[0]));
  EXPECT_TRUE(has_text(curves.problems[0], "seed-2")) << curves.problems[0];
}

}  // namespace
}  // namespace sadam::reproduce
