#include "report/text_table.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/display_width.h"
#include "base/quantities.h"

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

TEST(DisplayWidth, TakesBytesThatAreNotUtf8OneByOne) {
  EXPECT_EQ(base::display_width("\xff\xfe"), 2U);
  EXPECT_EQ(base::display_width("a\xcf"), 2U);  // the first byte of ρ, and no more
}

TEST(DisplayWidth, NeverCutsACharacterInTwo) {
  EXPECT_EQ(base::cut_to_width("ρρρ", 2), "ρρ");
  EXPECT_EQ(base::cut_to_width("a日", 2), "a");
  EXPECT_EQ(base::cut_to_width("ab", 5), "ab");
}

TEST(Quantities, ReadAsAPersonWritesThem) {
  EXPECT_EQ(base::duration(3.21), "3.2 s");
  EXPECT_EQ(base::duration(9.99), "10 s");
  EXPECT_EQ(base::duration(59.7), "1:00");
  EXPECT_EQ(base::duration(3723), "1:02:03");
  EXPECT_EQ(base::duration(std::numeric_limits<double>::quiet_NaN()), "–");
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
