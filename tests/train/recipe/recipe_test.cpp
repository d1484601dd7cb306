#include <gtest/gtest.h>

#include <limits>

#include "support/files.h"
#include "train/recipe/resolved.h"
#include "train/recipe/source.h"

namespace sadam::train {
namespace {

using sadam::testing::TemporaryFolder;
using sadam::testing::write_text;
using testing::resolved;

TEST(RecipeSource, WithoutAnythingItIsTheDefault) {
  EXPECT_EQ(Recipe(), RecipeSource().resolve());
  EXPECT_EQ(Recipe(), resolved(""));
}

TEST(RecipeSource, EveryTypeIsRead) {
  const auto recipe = resolved(R"(
title = "a \"b\" ü"
seed = 9223372036854775807
[model]
bits = 0x4
dropout = 0.5
weights = 'C:\w.pth'
[optimizer]
lr = 3e-4
damping = 3       # an integer where a number is asked for
damp_weight_decay = true
)");
  EXPECT_EQ("a \"b\" ü", recipe.title);
  EXPECT_EQ(std::numeric_limits<std::int64_t>::max(), recipe.seed);
  EXPECT_EQ(4, recipe.model.bits);
  EXPECT_EQ(0.5, recipe.model.dropout);
  EXPECT_EQ("C:\\w.pth", recipe.model.weights);
  EXPECT_EQ(3e-4, recipe.optimizer.lr);
  EXPECT_EQ(3.0, recipe.optimizer.damping);
  EXPECT_TRUE(recipe.optimizer.damp_weight_decay);
}

TEST(RecipeSource, AnyTextIsReadInAnyQuotes) {
  const auto title = [](const std::string& toml) {
    return resolved("\xef\xbb\xbf# ü 漢 \xff\ntitle = " + toml + " # ﳿ\n").title;
  };
  EXPECT_EQ("ü漢😀ﳿ", title("\"ü漢😀ﳿ\""));
  EXPECT_EQ("ü\\漢\"x\"", title("'ü\\漢\"x\"'"));
  EXPECT_EQ("ü\"\\", title("\"\\u00fc\\\"\\\\\""));
  EXPECT_EQ("aü", title("\"\"\"a\\\n  ü\"\"\""));
  EXPECT_EQ("ü\"\"", title("\"\"\"ü\"\"\"\"\""));
  EXPECT_EQ("ü\\''", title("'''\nü\\'''''"));
  EXPECT_EQ(3, resolved("title = 'ü#'\nseed = 3").seed);
}

TEST(RecipeSource, SaysWhatGaveAFieldItsValue) {
  RecipeSource source;
  source.add_text("seed = 3\n[train]\nepochs = 2\nbatch = 8\n", "a.toml");
  source.set("train.batch=4", "b.toml:7");
  source.set("train.clip=1");
  EXPECT_EQ(source.where("seed"), "a.toml:1");
  EXPECT_EQ(source.where("train.epochs"), "a.toml:3");
  EXPECT_EQ(source.where("train.batch"), "b.toml:7");
  EXPECT_EQ(source.where("train.clip"), "--set train.clip");
  EXPECT_EQ(source.where("train.device"), "");
}

TEST(RecipeSource, LaterLayersWinFieldByField) {
  const TemporaryFolder folder;
  write_text(folder / "a.toml", "[train]\nepochs = 3\nbatch = 16\n");
  write_text(folder / "b.toml", "train.epochs = 4\n");
  RecipeSource source;
  source.add_file(folder / "a.toml");
  source.add_file(folder / "b.toml");
  EXPECT_EQ(4, source.resolve().train.epochs);
  EXPECT_EQ(16, source.resolve().train.batch);
  source.set("train.epochs=5");
  source.set("train.epochs=6");
  EXPECT_EQ(6, source.resolve().train.epochs);
}

TEST(RecipeSource, ACopyGoesItsOwnWay) {
  RecipeSource source;
  source.set("seed=1");
  auto copy = source;
  copy.set("seed=2");
  EXPECT_EQ(1, source.resolve().seed);
  EXPECT_EQ(2, copy.resolve().seed);
  source = copy;
  EXPECT_EQ(2, source.resolve().seed);
}

TEST(RecipeSource, SetReadsTomlAndElsePlainText) {
  const auto recipe = resolved(
      "", {"optimizer.probes=8", "optimizer.lr=1e-2", "optimizer.damp_decay = true", "model.name=resnet18",
           "model.weights=\"a b.pth\"", "data.root=/data/1 2", "data.name=folder:x=y", "train.clip=1"});
  EXPECT_EQ(8, recipe.optimizer.probes);
  EXPECT_EQ(0.01, recipe.optimizer.lr);
  EXPECT_TRUE(recipe.optimizer.damp_weight_decay);
  EXPECT_EQ("resnet18", recipe.model.name);
  EXPECT_EQ("a b.pth", recipe.model.weights);
  EXPECT_EQ("/data/1 2", recipe.data.root);
  EXPECT_EQ("folder:x=y", recipe.data.name);
  EXPECT_EQ(1.0, recipe.train.clip);
}

TEST(RecipeSource, SetTakesTextThatLooksLikeSomethingElse) {
  EXPECT_EQ("2024", resolved("", {"title=2024"}).title);
  EXPECT_EQ("true", resolved("", {"title=true"}).title);
  EXPECT_EQ("[1]", resolved("", {"title=[1]"}).title);
  EXPECT_EQ("say \"hi\" \\o/", resolved("", {"title=say \"hi\" \\o/"}).title);
  EXPECT_EQ("", resolved("title = 'x'", {"title="}).title);
}

// The presets of sadam::SAdamOptions (src/optim/s_adam_options.cpp), written out.
TEST(Presets, AreThoseOfTheLibrary) {
  const auto paper = resolved("optimizer.preset = 'paper'").optimizer;
  OptimizerRecipe expected;
  expected.preset = "paper";
  expected.bias_correction = "none";
  EXPECT_EQ(expected, paper);

  const auto reference = resolved("optimizer.preset = 'reference'").optimizer;
  expected = {};
  expected.preset = "reference";
  expected.bias_correction = "reference";
  expected.directions = "per_tensor";
  expected.statistic = "unbiased_variance";
  expected.noise = "fresh";
  expected.group_by_group = true;
  EXPECT_EQ(expected, reference);

  const auto standard = resolved("optimizer.preset = 'default'").optimizer;
  EXPECT_EQ(OptimizerRecipe(), standard);
  EXPECT_EQ(1e-3, standard.lr);
  EXPECT_EQ(0.9, standard.beta1);
  EXPECT_EQ(0.999, standard.beta2);
  EXPECT_EQ(1e-8, standard.eps);
  EXPECT_EQ(1e-2, standard.weight_decay);
  EXPECT_EQ(2, standard.probes);
  EXPECT_EQ(0.01, standard.radius);
  EXPECT_EQ(2.0, standard.damping);
  EXPECT_EQ("sphere", standard.directions);
  EXPECT_EQ("variance", standard.statistic);
  EXPECT_EQ("exponential", standard.brake);
  EXPECT_EQ("shared", standard.noise);
  EXPECT_EQ("adamw", standard.bias_correction);
  EXPECT_EQ(1, standard.interval);
  EXPECT_EQ(10.0, standard.cap);
  EXPECT_EQ(1e-6, standard.lgi_eps);
  EXPECT_FALSE(standard.damp_weight_decay);
  EXPECT_FALSE(standard.group_by_group);
}

TEST(Presets, FieldsGivenBesideAPresetWin) {
  const auto optimizer =
      resolved("[optimizer]\nnoise = 'shared'\npreset = 'paper'", {"optimizer.preset=reference"}).optimizer;
  EXPECT_EQ("reference", optimizer.preset);
  EXPECT_EQ("shared", optimizer.noise);
  EXPECT_EQ("per_tensor", optimizer.directions);
}

TEST(Presets, ProxSgdHasItsOwnLearningRate) {
  EXPECT_EQ(0.01, resolved("optimizer.name = 'prox_sgd'").optimizer.lr);
  EXPECT_EQ(0.001, resolved("optimizer = {name = 'prox_sgd', lr = 0.001}").optimizer.lr);
  EXPECT_EQ(0.001, resolved("optimizer.name = 'adamw'").optimizer.lr);
}

Recipe unusual_recipe() {
  Recipe recipe;
  recipe.title = "quote \" backslash \\ ü 漢";
  recipe.seed = std::numeric_limits<std::int64_t>::max();
  recipe.model = {"resnet18", 8, 0.1 + 0.2, "w\\x.pth"};
  recipe.data = {"folder:/a b", "/data", 224, 1, 2};
  recipe.train = {3, 4, 5, 2, 6.5, 10, "probes", 7, 8, 9};
  recipe.schedule = {"step", 10, 1, 11, 0, 1e22};
  recipe.optimizer.name = "adamw";
  recipe.optimizer.preset = "reference";  // with fields that are not the preset's
  recipe.optimizer.lr = std::numeric_limits<double>::denorm_min();
  recipe.optimizer.beta2 = 0.9999999999999999;
  recipe.optimizer.weight_decay = std::numeric_limits<double>::max();
  recipe.optimizer.damping = 18446744073709551616.0;  // no integer of TOML
  recipe.optimizer.damp_weight_decay = true;
  recipe.control = {"matched", "runs/a", 0.37};
  return recipe;
}

TEST(ToToml, ReadsBackToAnEqualRecipe) {
  for (const auto& recipe : {Recipe(), unusual_recipe(), resolved("optimizer.preset = 'reference'")})
    EXPECT_EQ(recipe, resolved(to_toml(recipe))) << to_toml(recipe);
}

TEST(ToToml, HasEveryFieldOnce) {
  const auto text = to_toml(unusual_recipe());
  std::size_t lines = 0;
  for (std::size_t at = text.find(" = "); at != std::string::npos; at = text.find(" = ", at + 1)) ++lines;
  EXPECT_EQ(recipe_fields().size(), lines);
}

TEST(RecipeSource, WhatARunWritesAboutItselfIsPassedOver) {
  EXPECT_EQ(3,
            resolved("seed = 3\n[run]\nversion = '0.2'\nthreads = [1, 2]\n[run.device]\nname = 'cpu'").seed);
}

TEST(RecipeSource, TablesOfOthersArePassedOverOnlyIfToldSo) {
  constexpr auto kText = "[table]\nname = 'table1'\n[[cell]]\nset = {a = 1}\n[[cell]]\n[train]\nepochs = 7\n";
  RecipeSource source;
  source.add_text(kText, "table1.toml");
  EXPECT_TRUE(sadam::testing::says(sadam::testing::refusal([&] { source.resolve(); }), "[table]"));
  source.ignore("table");
  EXPECT_TRUE(sadam::testing::says(sadam::testing::refusal([&] { source.resolve(); }), "'cell'"));
  source.ignore("cell");
  EXPECT_EQ(7, source.resolve().train.epochs);
}

}  // namespace
}  // namespace sadam::train
