#include "train/recipe/fields.h"

#include <gtest/gtest.h>

namespace sadam::train {
namespace {

TEST(Difference, NamesTheFieldAndBothValues) {
  Recipe changed;
  changed.optimizer.probes = 8;
  changed.data.name = "cifar100";
  const auto found = differences(Recipe(), changed);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].field, "data.name");
  EXPECT_EQ(found[0].first, "\"synthetic10\"");
  EXPECT_EQ(found[0].second, "\"cifar100\"");
  EXPECT_EQ(found[1].field, "optimizer.probes");
}

struct Change {
  void operator()(std::string* text) const { *text += "x"; }
  void operator()(std::int64_t* integer) const { ++*integer; }
  void operator()(double* number) const { *number = *number * (1 + 1e-15) + 1e-300; }
  void operator()(bool* flag) const { *flag = !*flag; }
};

TEST(Difference, NoFieldIsForgottenButThoseThatDecideNothing) {
  std::vector<std::string> passed_over;
  for (const auto& row : field_table()) {
    Recipe changed;
    std::visit(Change{}, row.slot(changed));
    if (differences(Recipe(), changed).empty()) passed_over.push_back(row.name());
  }
  EXPECT_EQ(passed_over, (std::vector<std::string>{"title", "data.root", "train.processes", "train.split",
                                                   "train.checkpoint_every"}));
  EXPECT_TRUE(differences(Recipe(), Recipe()).empty());
}

}  // namespace
}  // namespace sadam::train
