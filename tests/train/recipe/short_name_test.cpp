#include "train/recipe/short_name.h"

#include <gtest/gtest.h>

#include <set>

#include "train/recipe/source.h"

namespace sadam::train {
namespace {

Recipe with(const std::vector<std::string>& changes) {
  RecipeSource source;
  for (const auto& change : changes) source.set(change);
  return source.resolve();
}

std::string name_of(const std::vector<std::string>& changes) { return short_name(with(changes), nullptr); }

TEST(ShortName, SaysWhatWasChangedFromTheDefaults) {
  EXPECT_EQ(name_of({}), "synthetic10-qatnet-sadam-42");
  EXPECT_EQ(name_of({"data.name=cifar100", "optimizer.lr=3e-4"}), "cifar100-qatnet-sadam-lr3e-4-42");
  EXPECT_EQ(name_of({"optimizer.name=adamw", "train.batch=64", "seed=7"}),
            "synthetic10-qatnet-adamw-batch64-7");
  EXPECT_EQ(name_of({"schedule.name=cosine", "optimizer.statistic=residual"}),
            "synthetic10-qatnet-sadam-cosine-statistic-residual-42");
  EXPECT_EQ(name_of({"model.weights=/a/b/own.pth", "model.name=resnet18"}),
            "synthetic10-resnet18-sadam-weights-own.pth-42");
}

TEST(ShortName, APresetStandsForTheFieldsItFills) {
  EXPECT_EQ(name_of({"optimizer.preset=paper"}), "synthetic10-qatnet-sadam-paper-42");
  EXPECT_EQ(name_of({"optimizer.preset=reference", "optimizer.probes=4"}),
            "synthetic10-qatnet-sadam-reference-probes4-42");
}

TEST(ShortName, LeavesOutWhatDecidesNothing) {
  EXPECT_EQ(name_of({"data.root=/x", "train.threads=3", "title=Hello", "train.device=cuda",
                     "train.checkpoint_every=9", "train.evaluate_batch=7"}),
            name_of({}));
  // AdamW has no probes.
  EXPECT_EQ(name_of({"optimizer.name=adamw", "optimizer.probes=8"}), name_of({"optimizer.name=adamw"}));
}

TEST(ShortName, BeginsWithTheFileAndSaysWhatDiffersFromIt) {
  const NamedRecipe base{stem_of("recipes/my.toml"), with({"data.name=cifar100", "optimizer.lr=1e-2"})};
  EXPECT_EQ(short_name(base.recipe, &base), "my-42");
  EXPECT_EQ(short_name(with({"data.name=cifar10", "optimizer.lr=1e-2", "train.epochs=3", "seed=7"}), &base),
            "my-cifar10-epochs3-7");
  EXPECT_EQ(stem_of("runs/first/run.toml"), "first");
  EXPECT_EQ(stem_of("-odd name.toml"), "_-odd_name");
}

TEST(ShortName, NumbersAreWrittenInTheShorterWay) {
  const auto lr = [](const std::string& value) {
    return short_text(*find_row("optimizer.lr"), with({"optimizer.lr=" + value}));
  };
  EXPECT_EQ(lr("0.0003"), "lr3e-4");
  EXPECT_EQ(lr("1e-3"), "lr1e-3");
  EXPECT_EQ(lr("0.01"), "lr0.01");
  EXPECT_EQ(lr("0.00025"), "lr2.5e-4");
  EXPECT_EQ(lr("2"), "lr2");
  EXPECT_EQ(lr("1e10"), "lr1e10");
}

TEST(ShortName, IsSafeAsAFileNameAndBounded) {
  EXPECT_EQ(name_of({"data.name=folder:/data/my birds"}), "my_birds-qatnet-sadam-42");
  EXPECT_EQ(name_of({"data.name=folder:birds/"}), "folder_birds-qatnet-sadam-42");
  std::set<std::string> names;
  for (const char end : {'a', 'b'}) {
    const auto name = name_of({"data.name=" + std::string(300, 'x') + end});
    EXPECT_EQ(name.size(), 100U);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 2U) << "what was cut off still counts";
}

TEST(ShortName, EveryFieldHasAKeyOfItsOwn) {
  std::set<std::string> keys;
  for (const auto& row : field_table()) EXPECT_TRUE(keys.insert(short_key(row)).second) << row.name();
}

}  // namespace
}  // namespace sadam::train
