#include "report/text_table.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/text.h"

namespace sadam::report {
namespace {

TextTable small_table() {
  TextTable table;
  table.columns = {{"name", "optimizer"}, {"lgi", "ρ", Align::right}};
  table.add({"S-Adam ±", Cell::number(0.5, 3)});
  table.add({"∗", Cell()});
  return table;
}

TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(base::display_width("ρ ± ∗ –"), 7U);
  EXPECT_EQ(base::display_width("日本"), 4U);
  EXPECT_EQ(base::display_width("e\u0301"), 1U);
}

TEST(DisplayWidth, ColoursTakeNoRoom) {
  EXPECT_EQ(base::display_width("\033[31msadam:\033[0m no"), 9U);
  EXPECT_EQ(base::display_width("\033[31"), 0U);
}

TEST(DisplayWidth, TakesBytesThatAreNotUtf8OneByOne) {
  EXPECT_EQ(base::display_width("\xff\xfe"), 2U);
  EXPECT_EQ(base::display_width("a\xcf"), 2U);  // the first byte of ρ, and no more
}

TEST(Quantities, ReadAsAPersonWritesThem) {
  EXPECT_EQ(base::duration(3.21), "3.2 s");
  EXPECT_EQ(base::duration(9.99), "10 s");
  EXPECT_EQ(base::duration(59.7), "1:00");
  EXPECT_EQ(base::duration(3723), "1:02:03");
  EXPECT_EQ(base::duration(std::numeric_limits<double>::quiet_NaN()), "–");
  EXPECT_EQ(base::counted(1, "run"), "1 run");
  EXPECT_EQ(base::counted(0, "run"), "0 runs");
  EXPECT_EQ(base::memory(512), "512 B");
  EXPECT_EQ(base::memory(1048575), "1.0 MiB");
  EXPECT_EQ(base::memory(std::int64_t{3} << 29), "1.5 GiB");
}

TEST(TextTable, AlignsColumnsWhoseCharactersHaveSeveralBytes) {
  EXPECT_EQ(to_text(small_table()),
            "optimizer      ρ\n"
            "─────────  ─────\n"
            "S-Adam ±   0.500\n"
            "∗              –\n");
}

TextTable wide_table() {
  TextTable table;
  table.columns = {{"run", "run"}, {"best", "best, %", Align::right}, {"last", "last, %", Align::right}};
  table.add({"adamw", Cell::number(15.5, 2), Cell::number(9, 2)});
  return table;
}

TEST(TextTable, SplitsWhatIsTooWideIntoBlocksThatBeginWithTheFirstColumn) {
  EXPECT_EQ(to_text(wide_table(), 23),
            "run    best, %  last, %\n"
            "─────  ───────  ───────\n"
            "adamw    15.50     9.00\n");
  EXPECT_EQ(to_text(wide_table(), 22),
            "run    best, %\n"
            "─────  ───────\n"
            "adamw    15.50\n"
            "\n"
            "run    last, %\n"
            "─────  ───────\n"
            "adamw     9.00\n");
  // However narrow, every column is shown.
  EXPECT_EQ(to_text(wide_table(), 1), to_text(wide_table(), 22));
  TextTable one;
  one.columns = {{"run", "run"}};
  one.add({"adamw"});
  EXPECT_EQ(to_text(one, 2), "run\n─────\nadamw\n");
}

TEST(TextTable, WrapsAWideLastColumnOfProse) {
  TextTable table;
  table.columns = {{"field", "field"}, {"meaning", "meaning"}};
  table.add({"seed", "Fixes the first weights and the order of the images."});
  table.add({"title", "Decides nothing."});
  EXPECT_EQ(to_text(table, 34),
            "field  meaning\n"
            "─────  ───────────────────────────\n"
            "seed   Fixes the first weights and\n"
            "       the order of the images.\n"
            "title  Decides nothing.\n");
  // Too narrow for all columns: in a block of its own.
  table.columns.insert(table.columns.begin() + 1, {"type", "type"});
  for (auto& row : table.rows) row.insert(row.begin() + 1, "integer");
  EXPECT_EQ(to_text(table, 34),
            "field  type\n"
            "─────  ───────\n"
            "seed   integer\n"
            "title  integer\n"
            "\n"
            "field  meaning\n"
            "─────  ───────────────────────────\n"
            "seed   Fixes the first weights and\n"
            "       the order of the images.\n"
            "title  Decides nothing.\n");
}

TEST(TextTable, LeavesOutColumnsInWhichNoCellHasAValue) {
  TextTable table;
  table.columns = {{"name", "name"}, {"a", "a"}, {"b", "b"}, {"c", "c"}};
  table.add({Cell(), Cell(), Cell::count(0), ""});
  table.add({Cell(), Cell(), Cell(), Cell()});
  const auto left = without_empty_columns(table);
  ASSERT_EQ(left.columns.size(), 3U);
  EXPECT_EQ(left.columns[1].key, "b");
  EXPECT_EQ(left.rows[0].size(), 3U);
}

TEST(TextTable, HasNoSignBeforeWhatIsNoNumber) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, std::copysign(nan, -1.0)}) {
    EXPECT_EQ(Cell::number(value, 2).text, "nan");
    TextTable table;
    table.columns = {{"x", "x"}};
    table.add({Cell::number(value, 2)});
    EXPECT_EQ(to_csv(table), "x\nnan\n");
  }
}

TEST(Wrap, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 8), "one two\nthree");
  EXPECT_EQ(wrapped("- one two three", 9, "  "), "- one\n  two\n  three");
  EXPECT_EQ(wrapped("extraordinary ρρρ", 5), "extraordinary\nρρρ");
  EXPECT_EQ(wrapped("one two three", 0), "one two three");
  EXPECT_EQ(wrapped("", 8), "");
}

TEST(TextTable, LetsNoCellDriveTheTerminal) {
  TextTable table;
  table.columns = {{"name", "name"}};
  table.add({"a\033[2J\nb"});
  EXPECT_EQ(to_text(table), "name\n───────\na?[2J?b\n");
}

TEST(TextTable, WritesMarkdownThatKeepsAlignmentAndBars) {
  auto table = small_table();
  table.add({"a|b", Cell::count(1)});
  EXPECT_EQ(to_markdown(table),
            "| optimizer |     ρ |\n"
            "| --------- | ----: |\n"
            "| S-Adam ±  | 0.500 |\n"
            "| ∗         |     – |\n"
            "| a\\|b      |     1 |\n");
}

TEST(TextTable, QuotesCsvOnlyWhereItMust) {
  TextTable table;
  table.columns = {{"plain", ""}, {"a,b", ""}};
  table.add({"x y", "say \"no\""});
  table.add({"two\nlines", Cell(Value(0.1), "shown otherwise")});
  table.add({Cell(), Cell(Value(true), "yes")});
  EXPECT_EQ(to_csv(table),
            "plain,\"a,b\"\n"
            "x y,\"say \"\"no\"\"\"\n"
            "\"two\nlines\",0.1\n"
            ",true\n");
}

TEST(TextTable, WritesJsonNumbersAsNumbersInTheOrderOfColumns) {
  TextTable table;
  table.columns = {{"z", ""}, {"a", ""}, {"n", ""}, {"none", ""}, {"nan", ""}};
  table.add({"text", Cell::count(7), Cell(0.25, "25 %"), Cell(),
             Cell::number(std::numeric_limits<double>::quiet_NaN(), 2)});
  const auto json = nlohmann::ordered_json::parse(to_json(table));
  EXPECT_EQ(json.dump(), R"([{"z":"text","a":7,"n":0.25,"none":null,"nan":null}])");
}

TEST(TextTable, WritesValidJsonForNamesThatAreNotUtf8) {
  TextTable table;
  table.columns = {{"name", ""}};
  table.add({"\xff"});
  EXPECT_TRUE(nlohmann::json::accept(to_json(table)));
}

TEST(TextTable, RefusesARowThatDoesNotFit) {
  auto table = small_table();
  EXPECT_THROW(table.add({"one"}), Error);
}

}  // namespace
}  // namespace sadam::report
