// Tables of one's own: what is wrong with them is said with file and line.
#include <gtest/gtest.h>

#include <string>

#include "base/usage_error.h"
#include "reproduce/plan.h"
#include "reproduce/table_recipe.h"
#include "support/refusal.h"

namespace sadam::reproduce {
namespace {

// Two rows and a column; `seeds` is in line 3, the shared fields end in line 5.
constexpr const char* kHead =
    "[table]\n"          // 1
    "title = 'mine'\n"   // 2
    "seeds = [1, 2]\n";  // 3
constexpr const char* kBody =
    "[[table.column]]\n"  // from 4, if nothing stands between
    "key = 'small'\n"
    "title = 'small data'\n"
    "[[table.row]]\n"  // 7
    "key = 'adamw'\n"
    "title = 'AdamW'\n"
    "set = [\"optimizer.name = 'adamw'\"]\n"
    "[[table.row]]\n"  // 11
    "key = 'wide'\n"
    "title = 'wide'\n";

// What is said of the text; "" if nothing is.
std::string said_of(const std::string& toml, const Request& request = {}) {
  try {
    make_plan(read_table(toml, "mine", "mine.toml"), request);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(TableFile, WorksAsItIs) { EXPECT_EQ(said_of(std::string(kHead) + kBody), ""); }

TEST(TableFile, ABaselineThatIsNoRowIsRefused) {
  EXPECT_EQ(said_of(std::string(kHead) + "baseline = 'adam'\n" + kBody),
            "mine.toml:4: table.baseline names 'adam', and there is no such row; did you mean 'adamw'?");
}

TEST(TableFile, NumbersOfThePaperForNoColumnAreRefused) {
  EXPECT_EQ(said_of(std::string(kHead) + kBody + "paper = { smal = 3 }\n"),
            "mine.toml:14: table.row.paper names 'smal', and there is no such column; did you mean 'small'?");
  EXPECT_EQ(
      said_of(std::string(kHead) + kBody + "paper_seconds = { huge = 3 }\n"),
      "mine.toml:14: table.row.paper_seconds names 'huge', and there is no such column; valid are: small.");
  EXPECT_EQ(
      said_of(std::string(kHead) + kBody + "paper_memory = { huge = 3 }\n"),
      "mine.toml:14: table.row.paper_memory names 'huge', and there is no such column; valid are: small.");
  EXPECT_EQ(
      said_of(std::string(kHead) + kBody + "paper_wall_seconds = { huge = 3 }\n"),
      "mine.toml:14: table.row.paper_wall_seconds names 'huge', and there is no such column; valid are: "
      "small.");
  EXPECT_EQ(said_of(std::string(kHead) + kBody + "paper = { small = 3, }\n").substr(0, 13), "mine.toml:14:");
  EXPECT_EQ(said_of(std::string(kHead) + kBody + "paper = { small = 3 }\n"), "");
}

TEST(TableFile, QuickRowsThatAreNoRowsAreRefused) {
  EXPECT_EQ(said_of(std::string(kHead) + kBody + "[table.quick]\nrows = ['adamw', 'wdie']\n"),
            "mine.toml:15: table.quick.rows names 'wdie', and there is no such row; did you mean 'wide'?");
}

TEST(TableFile, ABaselineOfARowIsAnotherRow) {
  const auto with = [](const std::string& line) { return said_of(std::string(kHead) + kBody + line); };
  EXPECT_EQ(with("baseline = 'adamw'\n"), "");
  EXPECT_EQ(with("baseline = 'later'\n[[table.row]]\nkey = 'later'\ntitle = 'l'\n"), "");
  EXPECT_EQ(with("baseline = 'adam'\n"),
            "mine.toml:14: table.row.baseline names 'adam', and there is no such row; did you mean 'adamw'?");
  EXPECT_EQ(with("baseline = 'wide'\n"),
            "mine.toml:14: table.row.baseline names 'wide', which is this row itself; name another.");
}

TEST(TableFile, AMeanIsOfTwoColumnsOrMoreThatExist) {
  const auto with = [](const std::string& mean) {
    return said_of(std::string(kHead) + kBody + "[[table.column]]\nkey = 'big'\ntitle = 'big data'\n" +
                   "[[table.mean]]\n" + mean);  // 17, 18
  };
  const std::string title = "title = 'both'\n";
  const std::string both = title + "columns = ['small', 'big']\n";
  EXPECT_EQ(with("key = 'both'\n" + both), "");
  EXPECT_EQ(with("key = 'big'\n" + both),
            "mine.toml:18: the key 'big' of a mean must not be empty or that of a column or another mean; "
            "choose another.");
  EXPECT_EQ(with("key = 'both'\n" + both + "[[table.mean]]\nkey = 'both'\n" + both).substr(0, 32),
            "mine.toml:22: the key 'both' of ");
  EXPECT_EQ(with("key = ''\n" + both).substr(0, 28), "mine.toml:18: the key '' of ");
  EXPECT_EQ(with(both), "mine.toml:17: table.mean has no 'key'; add it.");
  EXPECT_EQ(with("key = 'both'\n" + title + "columns = ['small']\n"),
            "mine.toml:20: table.mean.columns must name two columns or more.");
  EXPECT_EQ(with("key = 'both'\n" + title),
            "mine.toml:17: table.mean.columns must name two columns or more.");
  EXPECT_EQ(with("key = 'both'\n" + title + "columns = ['small', 'small']\n"),
            "mine.toml:20: table.mean.columns has 'small' twice; leave one out.");
  EXPECT_EQ(
      with("key = 'both'\n" + title + "columns = ['small', 'bigg']\n"),
      "mine.toml:20: table.mean.columns names 'bigg', and there is no such column; did you mean 'big'?");
  EXPECT_EQ(with("key = 'both'\n" + both + "set = []\n").substr(0, 42),
            "mine.toml:21: table.mean has no field 'set");
}

TEST(TableFile, ValuesOfAnotherTypeAreRefused) {
  const auto with = [](const std::string& line) { return said_of(std::string(kHead) + kBody + line); };
  EXPECT_EQ(with("controls = 3\n"), "mine.toml:14: table.row.controls must be true or false.");
  EXPECT_EQ(with("set = 'train.epochs = 1'\n"),
            "mine.toml:14: table.row.set must be a list of texts in quotes.");
  EXPECT_EQ(with("set = [1]\n"), "mine.toml:14: table.row.set must be a list of texts in quotes.");
  EXPECT_EQ(with("paper = 3\n"), "mine.toml:14: table.row.paper must be a table of numbers.");
  EXPECT_EQ(with("paper = { small = 'x' }\n"), "mine.toml:14: table.row.paper must be a table of numbers.");
  EXPECT_EQ(with("[table.quick]\nseeds = [1.5]\n"),
            "mine.toml:15: table.quick.seeds must be a list of integers.");
  EXPECT_EQ(
      with("[table.quick]\ncolumn = 3\n"),
      "mine.toml:15: table.quick.column must be a list of tables; write each as [[table.quick.column]].");
  EXPECT_EQ(said_of("[table]\ntitle = 3\n"), "mine.toml:2: table.title must be text in quotes.");
}

TEST(TableFile, MissingAndMisspeltFieldsAreRefusedWithTheirLine) {
  EXPECT_EQ(said_of(std::string(kHead) + kBody + "contrls = false\n"),
            "mine.toml:14: table.row has no field 'contrls'; did you mean 'controls'?");
  EXPECT_EQ(said_of(std::string(kHead) + kBody + "[[table.row]]\nkey = 'third'\n"),
            "mine.toml:14: table.row has no 'title'; add it.");
  EXPECT_EQ(said_of(std::string(kHead) + kBody + "[[table.row]]\nkey = 'wide'\n").substr(0, 26),
            "mine.toml:15: the key 'wid");
}

TEST(TableFile, WhatATableCannotDoWithoutIsNamed) {
  EXPECT_EQ(said_of("[table]\ntitle = 't'\n" + std::string(kBody)),
            "mine.toml:1: the table has no seeds; add table.seeds with one or more, such as seeds = [1, 2].");
  EXPECT_EQ(said_of("[table]\ntitle = 't'\nseeds = []\n" + std::string(kBody)).substr(0, 34),
            "mine.toml:3: the table has no seed");
  EXPECT_EQ(said_of(kHead), "mine.toml:1: the table has no column; add at least one as [[table.column]].");
  EXPECT_EQ(said_of(std::string(kHead) + "[[table.column]]\nkey = 'c'\ntitle = 'c'\n"),
            "mine.toml:1: the table has no row; add at least one as [[table.row]].");
}

TEST(TableFile, AFileOfFiguresIsSentToTheBuiltInOnes) {
  EXPECT_NE(said_of("[[figure]]\nkey = 'f'\n").find("mine.toml lists figures"), std::string::npos);
}

TEST(TableFile, ErrorsInChangesComeWithTheLineOfTheChange) {
  const auto with = [](const std::string& changes) {
    return said_of(std::string(kHead) + kBody + "set = [\n" + changes + "\n]\n");
  };
  EXPECT_EQ(with("  'train.epochs = 3',\n  'optimizer.probs = 3',"),
            "mine.toml:16: 'optimizer' has no field 'probs'; did you mean 'probes'?");
  EXPECT_EQ(with("  'optimizer.probes = 0',").substr(0, 34), "mine.toml:15: optimizer.probes is ");
  EXPECT_EQ(with("  'optimizer.probes',").substr(0, 36), "mine.toml:15: 'optimizer.probes' has");
  EXPECT_EQ(with("  'optimizer = 3',").substr(0, 30), "mine.toml:15: 'optimizer' is n");
  // Nobody can say which of two lines is wrong: the cell is named.
  EXPECT_EQ(with("  \"optimizer.directions = 'step'\",").substr(0, 23), "mine.toml, small/wide: ");
}

TEST(TableFile, ErrorsInTheSharedRecipeComeWithTheirLine) {
  EXPECT_EQ(said_of("[optimizer]\nprobs = 3\n" + std::string(kHead) + kBody),
            "mine.toml:2: 'optimizer' has no field 'probs'; did you mean 'probes'?");
}

TEST(TableFile, ASeedOutsideOfTheSeedsIsRefusedBecauseItWouldBeIgnored) {
  EXPECT_EQ(said_of("seed = 3\n" + std::string(kHead) + kBody),
            "mine.toml:1: the seeds of a table are table.seeds; leave the seed out here.");
  EXPECT_EQ(said_of(std::string(kHead) + kBody + "set = ['seed = 3']\n"),
            "mine.toml:14: the seeds of a table are table.seeds; leave the seed out here.");
  Request request;
  request.set = {"seed=3"};
  EXPECT_NE(said_of(std::string(kHead) + kBody, request).find("--seeds"), std::string::npos);
}

TEST(TableFile, SeedsThatAreNegativeOrThereTwiceAreRefused) {
  EXPECT_EQ(said_of("[table]\ntitle = 't'\nseeds = [1, -2]\n" + std::string(kBody)),
            "mine.toml:3: seed -2 is negative; use 0 or more.");
  EXPECT_NE(
      said_of("[table]\ntitle = 't'\nseeds = [1, 1]\n" + std::string(kBody)).find("mine.toml:3: seed 1"),
      std::string::npos);
}

TEST(Seeds, RangesStandForWhatIsBetween) {
  EXPECT_EQ(seeds_in("1-3"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(seeds_in("1-3, 7,9 - 9"), (std::vector<std::int64_t>{1, 2, 3, 7, 9}));
  EXPECT_EQ(seeds_in("9223372036854775806-9223372036854775807").size(), 2U);
  EXPECT_EQ(seeds_in("1-1000").size(), 1000U);
  for (const char* bad : {"3-1", "1-1001", "1-500,501-1001", "0-9223372036854775807", "1-", "1-2-3", "1--3",
                          "-9223372036854775808-9223372036854775807"})
    EXPECT_THROW(seeds_in(bad), UsageError) << bad;
  EXPECT_EQ(sadam::testing::refusal([] { seeds_in("3-1"); }),
            "--seeds: the range '3-1' ends before it begins; write the smaller seed first.");
}

TEST(Seeds, AreIntegersWithCommasBetweenThem) {
  EXPECT_EQ(seeds_in("7"), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(seeds_in("1, 2,9223372036854775807"), (std::vector<std::int64_t>{1, 2, 9223372036854775807}));
  for (const char* bad : {"", " ", "1,", ",1", "1,,2", "x", "1.5", "1e3", "9223372036854775808", "1 2"})
    EXPECT_THROW(seeds_in(bad), UsageError) << bad;
}

}  // namespace
}  // namespace sadam::reproduce
