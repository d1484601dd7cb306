// Every number of the paper that the tables carry, typed a second time from the paper's own tables: row by
// row, as they stand there, and not in the order of the recipes.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "reproduce/table_recipe.h"

namespace sadam::reproduce {
namespace {

constexpr double kNone = -1;

using Numbers = std::map<std::string, std::map<std::string, double>>;  // by row, then by column

// What stands in the paper, a row of the table a line.
struct Line {
  std::string row;
  std::vector<double> numbers;  // one a column; `kNone` where the paper has none
};

Numbers expected(const std::vector<std::string>& columns, const std::vector<Line>& lines) {
  Numbers numbers;
  for (const auto& line : lines) {
    EXPECT_EQ(line.numbers.size(), columns.size()) << line.row;
    auto& row = numbers[line.row];
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (line.numbers[i] != kNone) row[columns[i]] = line.numbers[i];
  }
  return numbers;
}

Numbers numbers_of(const char* table, std::map<std::string, double> TableRow::*kind) {
  Numbers numbers;
  for (const auto& row : find_table(table).rows)
    if (!row.paper.empty()) numbers[row.key] = row.*kind;  // other rows are controls of ours
  return numbers;
}

Numbers accuracies_of(const char* table) { return numbers_of(table, &TableRow::paper); }
Numbers seconds_of(const char* table) { return numbers_of(table, &TableRow::paper_seconds); }

std::vector<std::string> columns_of(const char* table) {
  std::vector<std::string> keys;
  for (const auto& column : find_table(table).columns) keys.push_back(column.key);
  return keys;
}

using Keys = std::vector<std::string>;

TEST(PaperNumbers, Table1) {
  const Keys columns = {"cifar100", "tinyimagenet", "imagewoof", "imagenet"};
  EXPECT_EQ(columns_of("table1"), columns);
  EXPECT_EQ(accuracies_of("table1"), expected(columns, {{"prox_sgd", {14.13, 19.89, 31.18, 9.66}},
                                                        {"adamw", {15.94, 18.91, 33.24, 8.63}},
                                                        {"sadam-k2", {18.11, 22.81, 35.57, 10.97}},
                                                        {"sadam-k8", {18.67, 23.18, 35.19, 11.24}},
                                                        {"sadam-k2-paper", {18.11, 22.81, 35.57, 10.97}},
                                                        {"sadam-k8-paper", {18.67, 23.18, 35.19, 11.24}}}));
  EXPECT_EQ(seconds_of("table1"), expected(columns, {{"prox_sgd", {kNone, 286.53, 38.98, 12322}},
                                                     {"adamw", {15.89, 281.49, 34.96, 8186}},
                                                     {"sadam-k2", {14.33, 258.54, 34.74, 8297}},
                                                     {"sadam-k8", {17.41, 293.14, 34.38, 12770}},
                                                     {"sadam-k2-paper", {kNone, kNone, kNone, kNone}},
                                                     {"sadam-k8-paper", {kNone, kNone, kNone, kNone}}}));
}

// The paper has the data sets as rows.
TEST(PaperNumbers, Table2) {
  const Keys rows = {"k8", "k2", "k1", "no-brake", "small-radius"};
  const auto by_data = expected(rows, {{"cifar100", {18.67, 18.11, 15.86, 15.82, 14.78}},
                                       {"tinyimagenet", {23.18, 22.81, 19.38, 18.29, 21.41}},
                                       {"imagewoof", {35.19, 35.57, 32.93, 32.99, 33.09}}});
  Numbers turned;
  for (const auto& [data, numbers] : by_data)
    for (const auto& [row, number] : numbers) turned[row][data] = number;
  EXPECT_EQ(columns_of("table2"), (Keys{"cifar100", "tinyimagenet", "imagewoof"}));
  EXPECT_EQ(accuracies_of("table2"), turned);
  for (const auto& [row, seconds] : seconds_of("table2")) EXPECT_TRUE(seconds.empty()) << row;
}

TEST(PaperNumbers, Table3) {
  const Keys columns = {"cifar100", "cifar10", "imagewoof"};
  EXPECT_EQ(columns_of("table3"), columns);
  EXPECT_EQ(accuracies_of("table3"), expected(columns, {{"prox_sgd", {48.24, 79.44, 50.22}},
                                                        {"adamw", {51.12, 80.48, 51.18}},
                                                        {"sadam-k2", {55.84, 85.46, 74.21}},
                                                        {"sadam-k8", {56.11, 86.13, 75.87}},
                                                        {"sadam-k2-paper", {55.84, 85.46, 74.21}},
                                                        {"sadam-k8-paper", {56.11, 86.13, 75.87}}}));
  EXPECT_EQ(seconds_of("table3"), expected(columns, {{"prox_sgd", {18299.63, 11640.01, 14276.93}},
                                                     {"adamw", {2317.04, 1681.73, 408.82}},
                                                     {"sadam-k2", {2136.53, 1096.24, 404.07}},
                                                     {"sadam-k8", {3775.30, 1458.24, 558.21}},
                                                     {"sadam-k2-paper", {2136.53, 1096.24, 404.07}},
                                                     {"sadam-k8-paper", {3775.30, 1458.24, 558.21}}}));
}

TEST(PaperNumbers, Table4) {
  Keys columns;
  for (const std::string data : {"cifar100", "cifar10", "imagewoof"})
    for (const char* batch : {"-b4", "-b16", "-b64"}) columns.push_back(data + batch);
  EXPECT_EQ(columns_of("table4"), columns);
  EXPECT_EQ(
      accuracies_of("table4"),
      expected(columns, {{"prox_sgd", {56.59, 68.09, 73.82, 82.43, 90.46, 93.54, 61.52, 79.41, 86.71}},
                         {"adamw", {56.99, 64.04, 67.43, 84.17, 89.22, 90.62, 56.25, 76.51, 79.82}},
                         {"sadam-k8", {66.57, 74.43, 74.18, 90.68, 92.53, 94.18, 81.22, 82.31, 84.60}}}));
  for (const auto& [row, seconds] : seconds_of("table4")) EXPECT_TRUE(seconds.empty()) << row;
}

// In a comment of the paper's source, for batch size 64 alone.
TEST(PaperNumbers, Table4sTimeAndMemory) {
  const Keys columns = {"cifar100-b64", "cifar10-b64", "imagewoof-b64"};
  EXPECT_EQ(numbers_of("table4", &TableRow::paper_wall_seconds),
            expected(columns, {{"prox_sgd", {3285.20, 2277.407, 1357.83}},
                               {"adamw", {3281.01, 2195.456, 1348.60}},
                               {"sadam-k8", {6714.85, 4631.388, 1847.13}}}));
  EXPECT_EQ(numbers_of("table4", &TableRow::paper_memory),
            expected(columns, {{"prox_sgd", {960.99, 3507.360, 3499.19}},
                               {"adamw", {1007.05, 3552.210, 3673.30}},
                               {"sadam-k8", {1093.94, 3643.340, 3851.42}}}));
  for (const char* table : {"table1", "table2", "table3", "table5"})
    for (const auto& row : find_table(table).rows)
      EXPECT_TRUE(row.paper_wall_seconds.empty() && row.paper_memory.empty()) << table << ' ' << row.key;
}

TEST(PaperNumbers, Table5) {
  const Keys columns = {"lr-1e-4", "lr-5e-4", "lr-1e-3"};
  EXPECT_EQ(columns_of("table5"), columns);
  EXPECT_EQ(accuracies_of("table5"),
            expected(columns, {{"adamw", {66.85, 52.98, 51.12}}, {"sadam-k8", {70.87, 61.26, 56.11}}}));
  for (const auto& [row, seconds] : seconds_of("table5")) EXPECT_TRUE(seconds.empty()) << row;
}

}  // namespace
}  // namespace sadam::reproduce
