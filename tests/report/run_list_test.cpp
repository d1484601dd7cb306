#include "report/run_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/usage_error.h"
#include "support/fake_runs.h"
#include "support/refusal.h"

namespace sadam::report {
namespace {

using sadam::testing::add_irregular_steps;
using sadam::testing::append;
using sadam::testing::recipe_with;
using sadam::testing::refusal;
using sadam::testing::write_run;

class RunListTest : public sadam::testing::RunsTest {
 protected:
  void write_three() {
    write_run(paths("b"), recipe_with({"train.epochs=2", "optimizer.probes=8", "seed=10"}), {0.1, 0.2});
    write_run(paths("a"), recipe_with({"train.epochs=2", "optimizer.name=adamw", "seed=9"}), {0.4, 0.3});
    write_run(paths("c"), recipe_with({"train.epochs=2", "data.name=synthetic100", "seed=9"}), {});
  }

  std::vector<std::string> names(const RunQuery& query) const {
    std::vector<std::string> result;
    for (const auto& row : list_runs(query).brief.rows) result.push_back(row[0].text);
    return result;
  }

  RunQuery where(std::vector<std::string> conditions) const {
    return {root_, std::move(conditions), "", false};
  }
};

using Names = std::vector<std::string>;

TEST_F(RunListTest, ListsByNameWithWhatFitsATerminal) {
  write_three();
  EXPECT_EQ(
      to_text(list_runs({root_, {}, "", false}).brief),
      "run  state     data          model         optimizer  seed  epochs  best %  last %  brake  time  "
      "accuracy\n"
      "───  ────────  ────────────  ────────────  ─────────  ────  ──────  ──────  ──────  ─────  ────  "
      "────────\n"
      "a    finished  synthetic10   qatnet 2-bit  adamw         9     2/2   40.00   30.00      –  10 s  █▁\n"
      "b    finished  synthetic10   qatnet 2-bit  sadam k=8    10     2/2   20.00   20.00   0.40  10 s  ▁█\n"
      "c    stopped   synthetic100  qatnet 2-bit  sadam k=2     9     0/2       –       –      –     –  –\n");
}

TEST_F(RunListTest, ANarrowTerminalShowsFewerColumnsAndFirstLosesWhatIsTheSameForAll) {
  write_three();
  const auto brief = list_runs({root_, {}, "", false}).brief;
  EXPECT_EQ(to_text(narrowed(brief, 80), 80),
            "run  state     optimizer  epochs  best %  last %  brake  time  accuracy\n"
            "───  ────────  ─────────  ──────  ──────  ──────  ─────  ────  ────────\n"
            "a    finished  adamw         2/2   40.00   30.00      –  10 s  █▁\n"
            "b    finished  sadam k=8     2/2   20.00   20.00   0.40  10 s  ▁█\n"
            "c    stopped   sadam k=2     0/2       –       –      –     –  –\n");
  for (const std::size_t width : {60U, 40U, 20U}) {
    const auto text = to_text(narrowed(brief, width), width);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << "one block: " << text;
    EXPECT_LE(base::display_width(text.substr(0, text.find('\n'))), width);
  }
}

TEST_F(RunListTest, ALongNameLosesItsMiddleBeforeResultsGo) {
  write_three();
  auto brief = list_runs({root_, {}, "", false}).brief;
  brief.rows[1][0] = Cell("cifar100-qatnet-sadam-train_images500-epochs20-by-lr-seed/lr1e-3-seed1");
  EXPECT_EQ(to_text(narrowed(brief, 68), 68),
            "run                       state     epochs  best %  last %  accuracy\n"
            "────────────────────────  ────────  ──────  ──────  ──────  ────────\n"
            "a                         finished     2/2   40.00   30.00  █▁\n"
            "cifar100…ed/lr1e-3-seed1  finished     2/2   20.00   20.00  ▁█\n"
            "c                         stopped      0/2       –       –  –\n");
  EXPECT_EQ(narrowed(brief, 0).rows[1][0].text, brief.rows[1][0].text);
  EXPECT_EQ(narrowed(brief, 200).rows[1][0].text, brief.rows[1][0].text);
}

TEST_F(RunListTest, ProgramsGetNoPictures) {
  write_three();
  for (const auto& column : list_runs({root_, {}, "", false}).full.columns) EXPECT_NE(column.key, "trend");
}

TEST(Sparkline, GoesFromTheLowestToTheHighestAndEndsWithTheLast) {
  EXPECT_EQ(sparkline({0.1, 0.2, 0.3}, 8), "▁▅█");
  EXPECT_EQ(sparkline({0, 9, 1, 9, 2, 9, 3, 0}, 4), "███▁");
  EXPECT_EQ(sparkline({5, 5}, 8), "▅▅");
  EXPECT_EQ(sparkline({std::nan(""), 1, 2}, 8), " ▁█");
  EXPECT_EQ(sparkline({}, 8), "");
}

TEST_F(RunListTest, ShowsSkippedStepsOnlyWhereThereAreAny) {
  write_three();
  EXPECT_EQ(to_text(list_runs({root_, {}, "", false}).brief).find("skipped"), std::string::npos);
  EXPECT_TRUE(list_runs({root_, {}, "", false}).irregularities.empty());
  add_irregular_steps(paths("b"));
  const auto list = list_runs({root_, {}, "", false});
  const auto text = to_text(list.brief);
  EXPECT_NE(text.find("accuracy  skipped  bad probes  in noise\n"), std::string::npos) << text;
  ASSERT_EQ(list.irregularities.size(), 3U);
  EXPECT_NE(list.irregularities[0].find("b (1 of 23)"), std::string::npos) << list.irregularities[0];
  // Of those that are listed, and no others.
  const auto others = list_runs(where({"optimizer.name=adamw"}));
  EXPECT_TRUE(others.irregularities.empty());
  EXPECT_EQ(to_text(others.brief).find("skipped"), std::string::npos);
  EXPECT_EQ(names(where({"skipped=1"})), Names{"b"});
}

TEST_F(RunListTest, FiltersByRecipeFieldsAndByColumns) {
  write_three();
  EXPECT_EQ(names(where({"optimizer.name=sadam"})), (Names{"b", "c"}));
  EXPECT_EQ(names(where({"optimizer.name=sadam", "data.name=synthetic100"})), Names{"c"});
  EXPECT_EQ(names(where({"state=finished"})), (Names{"a", "b"}));
  EXPECT_EQ(names(where({"best=40"})), Names{"a"});
  EXPECT_EQ(names(where({"optimizer.lr=1e-3"})), (Names{"a", "b", "c"}));
  EXPECT_EQ(names(where({"optimizer=sadam k=8"})), Names{"b"});
}

TEST_F(RunListTest, SaysWhatTheRunsHaveWhereNoneHasWhatIsWanted) {
  write_three();
  EXPECT_EQ(list_runs(where({"optimizer.name=sgd", "seed=9"})).unmet,
            Names{"optimizer.name is adamw or sadam"});
  EXPECT_EQ(list_runs(where({"seed=abc", "name=d"})).unmet, (Names{"seed is 10 or 9", "name is a, b or c"}));
  // Each holds of some run, though not of the same one.
  EXPECT_TRUE(list_runs(where({"optimizer.name=adamw", "seed=10"})).unmet.empty());
  for (int i = 0; i < 9; ++i)
    write_run(paths("n" + std::to_string(i)), recipe_with({"seed=" + std::to_string(20 + i)}), {});
  EXPECT_EQ(list_runs(where({"name=x"})).unmet, Names{"name is a, b, c, n0, n1, n2 or something else"});
}

TEST_F(RunListTest, AFieldThatDecidesNothingMatchesNothing) {
  write_three();
  EXPECT_EQ(names(where({"optimizer.probes=2"})), Names{"c"});
}

TEST_F(RunListTest, SortsNumbersBySizeAndWhatIsMissingLast) {
  write_three();
  write_run(paths("aa"), recipe_with({"seed=9"}), {});
  EXPECT_EQ(names({root_, {}, "seed", false}), (Names{"a", "aa", "c", "b"}));
  EXPECT_EQ(names({root_, {}, "best", false}), (Names{"b", "a", "aa", "c"}));
  EXPECT_EQ(names({root_, {}, "best", true}), (Names{"a", "b", "aa", "c"}));
}

TEST_F(RunListTest, RefusesUnknownFieldsWithTheNearestOne) {
  const auto message = [](const RunQuery& query) { return refusal<UsageError>([&] { list_runs(query); }); };
  const std::string lists = "'sadam runs --help' lists the columns, 'sadam info recipe' the fields.";
  EXPECT_EQ(message(where({"optimiser.name=sadam"})),
            "--where: there is no column or recipe field 'optimiser.name'; did you mean 'optimizer.name'? " +
                lists);
  EXPECT_EQ(message({root_, {}, "bets", false}),
            "--sort: there is no column or recipe field 'bets'; did you mean 'best'? " + lists);
  // Some seventy names would bury it.
  EXPECT_EQ(message(where({"nonsense=1"})),
            "--where: there is no column or recipe field 'nonsense'; " + lists);
  EXPECT_NE(message(where({"sadam"})).find("field=value"), std::string::npos);
}

TEST_F(RunListTest, AFieldWithoutItsTableAndAHeadingAreAnsweredWithTheName) {
  const auto meant = [&](const std::string& field) -> std::string {
    const auto sentence = refusal<UsageError>([&] { list_runs(where({field + "=1"})); });
    const auto begin = sentence.find("did you mean ");
    return begin == std::string::npos ? "" : sentence.substr(begin, sentence.find('?') - begin);
  };
  EXPECT_EQ(meant("probes"), "did you mean 'optimizer.probes'");
  EXPECT_EQ(meant("prbes"), "did you mean 'optimizer.probes'");
  EXPECT_EQ(meant("weights"), "did you mean 'model.weights'");
  EXPECT_EQ(meant("factor"), "did you mean 'schedule.factor'");
  EXPECT_EQ(meant("run"), "did you mean 'name'");
  EXPECT_EQ(meant("bad probes"), "did you mean 'non_finite_probes'");
}

TEST_F(RunListTest, ListsTheOthersBesideADamagedRun) {
  write_three();
  append(paths("a").events(), "rubbish\n");
  const auto list = list_runs({root_, {}, "", false});
  EXPECT_EQ(list.brief.rows.size(), 3U);
  EXPECT_EQ(list.brief.rows[0][1].text, "damaged");
  EXPECT_EQ(list.unread, 1U);
  ASSERT_EQ(list.problems.size(), 1U);
}

TEST_F(RunListTest, IsSilentAboutDamageThatWasNotAskedFor) {
  write_three();
  append(paths("a").events(), "rubbish\n");
  EXPECT_TRUE(list_runs(where({"optimizer.name=sadam"})).problems.empty());
  // Without a recipe nobody can tell.
  append(paths("a").recipe(), "[");
  EXPECT_EQ(list_runs(where({"optimizer.name=sadam"})).unread, 1U);
}

TEST_F(RunListTest, AKilledRunIsAProblemButNotDamage) {
  write_three();
  append(paths("c").events(), "{");
  const auto list = list_runs({root_, {}, "", false});
  EXPECT_EQ(list.problems.size(), 1U);
  EXPECT_EQ(list.unread, 0U);
}

TEST_F(RunListTest, GivesProgramsEveryResultAndEveryField) {
  write_three();
  const auto json = nlohmann::json::parse(to_json(list_runs({root_, {}, "", false}).full));
  EXPECT_EQ(json[1]["name"], "b");
  EXPECT_EQ(json[1]["best"], 20.0);
  EXPECT_EQ(json[1]["best_epoch"], 2);
  EXPECT_EQ(json[1]["step_time"], 0.5);
  EXPECT_EQ(json[1]["optimizer.probes"], 8);
  EXPECT_EQ(json[1]["seed"], 10);
  EXPECT_TRUE(json[0]["optimizer.probes"].is_null());
  EXPECT_TRUE(json[0]["brake"].is_null());
  EXPECT_NEAR(json[1]["brake"].get<double>(), 0.4, 1e-12);
}

TEST_F(RunListTest, IsEmptyWhereThereIsNoFolder) {
  const auto list = list_runs({root_ / "nowhere", {}, "", false});
  EXPECT_EQ(list.found, 0U);
  EXPECT_EQ(to_json(list.full), "[]\n");
}

}  // namespace
}  // namespace sadam::report
