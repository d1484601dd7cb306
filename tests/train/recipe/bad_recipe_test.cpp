#include <gtest/gtest.h>

#include "base/usage_error.h"
#include "support/files.h"
#include "train/recipe/resolved.h"

namespace sadam::train {
namespace {

std::string refused(std::string_view toml, std::initializer_list<std::string_view> sets = {}) {
  return sadam::testing::refusal<UsageError>([&] { testing::resolved(toml, sets); });
}

TEST(BadRecipe, OneBitIsRefused) {
  EXPECT_EQ("r.toml:2: model.bits is 1; allowed are 2 to 8.", refused("[model]\nbits = 1"));
  EXPECT_EQ("--set: model.bits is 9; allowed are 2 to 8.", refused("", {"model.bits=9"}));
}

TEST(BadRecipe, AMisspeltNameGetsTheNearestOne) {
  EXPECT_EQ("r.toml:3: 'optimizer' has no field 'probs'; did you mean 'probes'?",
            refused("[optimizer]\nlr = 1\nprobs = 8"));
  EXPECT_EQ("r.toml:1: a recipe has no field or table 'optimiser'; did you mean 'optimizer'?",
            refused("[optimiser]\nlr = 1"));
  EXPECT_EQ("r.toml:1: a recipe has no field or table 'modle'; did you mean 'model'?", refused("[modle]"));
  EXPECT_EQ("r.toml:1: a recipe has no field or table 'sede'; did you mean 'seed'?", refused("sede = 1"));
  EXPECT_EQ("--set: 'optimizer' has no field 'probs'; did you mean 'probes'?",
            refused("", {"optimizer.probs=8"}));
  EXPECT_EQ("r.toml:1: optimizer.name is 'sadm'; did you mean 'sadam'?", refused("optimizer.name = 'sadm'"));
  EXPECT_EQ("r.toml:1: optimizer.name is 'adam'; valid are: sadam, adamw, prox_sgd.",
            refused("optimizer.name = 'adam'"));
  EXPECT_EQ("r.toml:1: optimizer.name is 'lion'; valid are: sadam, adamw, prox_sgd.",
            refused("optimizer.name = 'lion'"));
  EXPECT_EQ("r.toml:1: 'control' has no field 'xyzzy'; valid are: kind, run, brake.",
            refused("control.xyzzy = 1"));
}

TEST(BadRecipe, AFieldInTheWrongTableIsPointedToTheRightOne) {
  EXPECT_EQ("--set: a recipe has no field or table 'probes'; did you mean 'optimizer.probes'?",
            refused("", {"probes=8"}));
  EXPECT_EQ("r.toml:1: 'train' has no field 'dropout'; did you mean 'model.dropout'?",
            refused("train.dropout = 0.5"));
}

TEST(BadRecipe, TheFirstMistakeInTheTextIsTheOneNamed) {
  EXPECT_EQ("r.toml:2: 'train' has no field 'zzz'", refused("[train]\nzzz = 1\naaa = 1").substr(0, 36));
}

TEST(BadRecipe, AnAverageThatNeverBeginsIsRefused) {
  EXPECT_EQ(
      "average.from is 4 and train.epochs is 3; the average would never begin: begin it earlier, or leave "
      "average.decay out.",
      refused("train.epochs = 3\n[average]\ndecay = 0.9\nfrom = 4"));
  EXPECT_NO_THROW(testing::resolved("train.epochs = 3\naverage.from = 4"));
  EXPECT_EQ("r.toml:1: average.decay is 1.5; allowed are 0 to 1.", refused("average.decay = 1.5"));
}

TEST(BadRecipe, AControlIsPlainAdamW) {
  const std::string control = "control.kind = 'constant'\ncontrol.brake = 0.5\noptimizer.name = 'adamw'\n";
  EXPECT_NO_THROW(testing::resolved(control));
  for (const std::string field : {"optimizer.gradient_at = 'ascent'", "optimizer.final_ratio = 100"})
    EXPECT_EQ(
        "control.kind is 'constant', and a control is plain AdamW; leave optimizer.gradient_at and "
        "optimizer.final_ratio out.",
        refused(control + field));
}

TEST(BadRecipe, TypesAreChecked) {
  EXPECT_EQ("r.toml:1: optimizer.probes is the text '8'; it must be an integer.",
            refused("optimizer.probes = '8'"));
  EXPECT_EQ("r.toml:1: optimizer.probes is the number 8.5; it must be an integer.",
            refused("optimizer.probes = 8.5"));
  EXPECT_EQ("r.toml:1: optimizer.lr is true; it must be a number.", refused("optimizer.lr = true"));
  EXPECT_EQ("r.toml:1: optimizer.damp_weight_decay is the integer 1; it must be true or false.",
            refused("optimizer.damp_weight_decay = 1"));
  EXPECT_EQ("r.toml:1: model.name is the integer 1; it must be text in quotes.", refused("model.name = 1"));
  EXPECT_EQ("r.toml:1: train.batch is an array; it must be an integer.", refused("train.batch = [4, 16]"));
  EXPECT_EQ("r.toml:1: train.batch is a table; it must be an integer.", refused("[train.batch]"));
  EXPECT_EQ("r.toml:1: seed is an array; it must be an integer.", refused("seed = [1, 2]"));
  EXPECT_EQ("r.toml:1: title is a date; it must be text in quotes.", refused("title = 2024-01-01"));
  EXPECT_EQ("r.toml:1: 'seed' is a field and not a table; write seed = VALUE.", refused("[seed]\nx = 1"));
  EXPECT_EQ("r.toml:1: 'model' is no field but a table, written [model]; did you mean model.name?",
            refused("model = 'qatnet'"));
  EXPECT_EQ("r.toml:1: 'model' is no field but a table, written [model]; did you mean model.name?",
            refused("[[model]]\nbits = 4"));
  EXPECT_EQ("--set: optimizer.lr is the text 'fast'; it must be a number.",
            refused("", {"optimizer.lr=fast"}));
}

TEST(BadRecipe, RangesAreChecked) {
  EXPECT_EQ("r.toml:1: train.accumulate is 0; allowed are 1 to 1000000.", refused("train.accumulate = 0"));
  EXPECT_EQ("r.toml:1: seed is -1; allowed are at least 0.", refused("seed = -1"));
  EXPECT_EQ("r.toml:1: optimizer.beta1 is 1; allowed are at least 0 and below 1.",
            refused("optimizer.beta1 = 1"));
  EXPECT_EQ("r.toml:1: optimizer.radius is 0; allowed are above 0.", refused("optimizer.radius = 0"));
  EXPECT_EQ("r.toml:1: optimizer.lr is -0.1; allowed are at least 0.", refused("optimizer.lr = -0.1"));
  EXPECT_EQ("r.toml:1: control.brake is -0.5; allowed are at least 0.", refused("control.brake = -0.5"));
  EXPECT_EQ("r.toml:1: average.decay is 1.5; allowed are 0 to 1.", refused("average.decay = 1.5"));
  EXPECT_EQ("r.toml:1: optimizer.cap is inf; it must be a finite number, above 0.",
            refused("optimizer.cap = inf"));
  EXPECT_EQ("r.toml:1: optimizer.lr is nan; it must be a finite number, at least 0.",
            refused("optimizer.lr = nan"));
  EXPECT_EQ(
      "--set: seed is '99999999999999999999', which is beyond 64 bits; allowed are 0 to "
      "9223372036854775807.",
      refused("", {"seed=99999999999999999999"}));
  EXPECT_TRUE(sadam::testing::says(refused("", {"seed=-99999999999999999999"}), "beyond 64 bits"));
  EXPECT_TRUE(sadam::testing::says(refused("", {"seed=99999999999999999999x"}), "is the text"));
  EXPECT_EQ("r.toml:1: data.name is empty; leave it out for \"synthetic10\".", refused("data.name = ''"));
}

TEST(BadRecipe, TheEndsOfARangeAreAllowed) {
  for (const auto* text : {"model.bits = 2", "model.bits = 8", "optimizer.probes = 1",
                           "optimizer.probes = 65535", "optimizer.beta1 = 0", "model.dropout = 0",
                           "control.brake = 1", "schedule.floor = 0", "seed = 0", "optimizer.lr = 0"})
    EXPECT_NO_THROW(testing::resolved(text)) << text;
  for (const auto* text :
       {"optimizer.probes = 0", "optimizer.probes = 65536", "model.dropout = 1", "schedule.floor = 1.0000001",
        "train.epochs = 0", "train.batch = 0", "optimizer.interval = 0"})
    EXPECT_THROW(testing::resolved(text), UsageError) << text;
}

TEST(BadRecipe, ContradictionsAreRefused) {
  EXPECT_EQ(
      "optimizer.directions is 'step' and optimizer.statistic is 'variance'; along the step there is the "
      "statistic "
      "'residual' only.",
      refused("optimizer.directions = 'step'"));
  EXPECT_NO_THROW(testing::resolved("optimizer = {directions = 'step', statistic = 'residual'}"));
  EXPECT_NE(
      refused("train.probe_images = 8\noptimizer.statistic = 'residual'").find("train.probe_images is 8"),
      std::string::npos);
  EXPECT_NO_THROW(testing::resolved("train.probe_images = 8\noptimizer.name = 'adamw'"));
  EXPECT_EQ(
      "train.precision is 'bf16' and train.device is 'cpu'; a CPU trains in float32: leave it out, or use a "
      "GPU "
      "(--device cuda).",
      refused("train.precision = 'bf16'"));
  EXPECT_NO_THROW(testing::resolved("train = {precision = 'bf16', device = 'cuda'}"));
  for (const std::string kind : {"matched", "shuffled", "replayed"}) {
    const auto text = "optimizer.name = 'adamw'\ncontrol.kind = '" + kind + "'";
    EXPECT_EQ("control.kind is '" + kind +
                  "' without control.run; name the folder of the S-Adam run whose brakes it takes.",
              refused(text));
    EXPECT_NO_THROW(testing::resolved(text, {"control.run=runs/a"}));
  }
  EXPECT_NO_THROW(
      testing::resolved("optimizer.name = 'adamw'\ncontrol.kind = 'constant'", {"control.brake=0.5"}));
  for (const std::string name : {"prox_sgd", "sadam"})
    EXPECT_EQ("control.kind is 'constant' and optimizer.name is '" + name +
                  "'; a control is a run of 'adamw' with the brakes of another run.",
              refused("control.kind = 'constant'", {"optimizer.name=" + name}));
  EXPECT_EQ("control.run is given and control.kind is 'none'; make it 'matched', 'shuffled' or 'replayed'.",
            refused("control.run = 'runs/a'"));
}

TEST(BadRecipe, AControlThatWouldDoNothingIsRefused) {
  const std::string adamw = "optimizer.name = 'adamw'\n";
  for (const std::string name : {"adamw", "sadam"})
    EXPECT_EQ("control.brake is 0.3 and control.kind is 'none'; make it 'constant', or leave the brake out.",
              refused("optimizer.name = '" + name + "'", {"control.brake=0.3"}));
  EXPECT_EQ("control.kind is 'constant' without control.brake; give the factor, such as control.brake=0.5.",
            refused(adamw, {"control.kind=constant"}));
  // What a run writes down has every field, and is read back.
  EXPECT_NO_THROW(testing::resolved(to_toml(testing::resolved(adamw))));
  const auto constant = testing::resolved(adamw, {"control.kind=constant", "control.brake=1"});
  EXPECT_EQ(constant, testing::resolved(to_toml(constant)));
}

TEST(BadRecipe, TextIsPrintableUtf8) {
  EXPECT_EQ("r.toml:1: title is 'a\\x0ab', which has a control character in it; take it out.",
            refused("title = \"a\\nb\""));
  EXPECT_EQ("--set title: the value '\\xff' is not UTF-8.", refused("", {"title=\xff"}));
  // Not UTF-8: a lone byte, one too few, a form longer than need be, half a surrogate pair, beyond the last.
  for (const std::string bytes : {"\xff", "\x80", "\xc3", "\xe6\xbc", "\xc0\xaf", "\xe0\x80\xaf",
                                  "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_EQ("r.toml:2: this is not TOML: it is not UTF-8.", refused("seed = 1\ntitle = '" + bytes + "'"));
  EXPECT_EQ("r.toml:2: this is not TOML: outside quotes there are only letters, digits and signs of ASCII.",
            refused("title = 'ü'\nsü = 1"));
  EXPECT_EQ("r.toml:1: this is not TOML: after a backslash comes the letter of an escape.",
            refused("title = \"\\ü\""));
  EXPECT_TRUE(
      sadam::testing::says(refused("'sü' = 1"), "r.toml:1: a recipe has no field or table 's\\xc3\\xbc'"));
  // The line is that of the byte, not that where the text begins.
  EXPECT_EQ("r.toml:4: this is not TOML: it is not UTF-8.",
            refused("seed = 1\ntitle = \"\"\"\n ü\n \xff\n\"\"\""));
}

TEST(BadRecipe, NamesOutsideAsciiAreGivenOnce) {
  EXPECT_EQ("r.toml:2: this is not TOML: '\\xc3\\xbc' stands there twice.",
            refused("'ü' = 1\n\"\\u00fc\" = 2"));
}

// Bytes outside ASCII travel through the parser as these.
TEST(BadRecipe, EscapesDoNotNameBytes) {
  for (const std::string escape : {"\\U000F0080", "\\U000f00c3\\U000F00bC", "\\U000F00fF"})
    EXPECT_TRUE(sadam::testing::says(refused("title = \"" + escape + "\""), "are not for escapes")) << escape;
  for (const std::string escape : {"\\U000F007F", "\\U000F0100", "\\U000F00"})
    EXPECT_FALSE(sadam::testing::says(refused("titel = \"" + escape + "\""), "are not for escapes"))
        << escape;
}

TEST(BadRecipe, NamesDoNotNestForEver) {
  std::string name = "a";
  for (int i = 0; i < 100'000; ++i) name += ".a";
  EXPECT_TRUE(sadam::testing::says(refused(name + " = 1"), "more than 5000 dots"));
}

TEST(BadRecipe, WhatIsNotTomlIsRefusedWithTheLine) {
  EXPECT_TRUE(sadam::testing::says(refused("seed = 1\n[model\n"), "r.toml:2: this is not TOML: "));
  EXPECT_TRUE(sadam::testing::says(refused("seed = 1\nseed = 2\n"), "r.toml:2: this is not TOML: "));
}

TEST(BadRecipe, TextWithoutQuotesIsAnsweredWithQuotes) {
  for (const std::string value : {"cifar10", "folder:x", "nano", "true1", "/data", ".."})
    EXPECT_TRUE(sadam::testing::says(refused("[data]\nname = " + value + "  # here"), "; text needs quotes."))
        << value;
  EXPECT_TRUE(sadam::testing::says(refused("[data]\nname = cifar10"), "r.toml:2: this is not TOML: "));
  for (const std::string text :
       {"seed = ", "seed = [", "train.deterministic = true\ntrain.deterministic = false", "seed = 1x",
        "title = 'a' 'b'", "cifar10"})
    EXPECT_FALSE(sadam::testing::says(refused(text), "quotes")) << text;
}

// Malformed names that the parser takes for granted not to come.
TEST(BadRecipe, MalformedNamesOfTablesAreRefused) {
  for (const std::string text : {"[[[1]]]", "[[=", "[\1a]", "[[\1a]]", "[a.[b]]"})
    EXPECT_TRUE(sadam::testing::says(refused(text), "this is not TOML: ")) << text;
}

TEST(BadRecipe, SetNeedsAFieldAndAValue) {
  EXPECT_EQ("--set 'optimizer.probes' has no '='; write a field and its value, such as optimizer.probes=8.",
            refused("", {"optimizer.probes"}));
  EXPECT_TRUE(sadam::testing::says(refused("", {"=8"}), "no field or table ''"));
  EXPECT_TRUE(sadam::testing::says(refused("", {"optimizer={}"}), "names no field"));
  EXPECT_TRUE(sadam::testing::says(refused("", {"run.device=cpu"}), "no field or table 'run'"));
  EXPECT_TRUE(sadam::testing::says(refused("", {"seed=1\ntitle=2"}), "seed is the text"));
}

TEST(BadRecipe, NamesThatAreEmptyAreRefused) {
  EXPECT_TRUE(sadam::testing::says(refused("'' = 1"), "no field or table ''"));
  EXPECT_TRUE(sadam::testing::says(refused("['']\nseed = 1"), "no field or table ''"));
  EXPECT_TRUE(sadam::testing::says(refused("[model]\n'' = {}"), "'model' has no field ''"));
}

TEST(BadRecipe, AFileThatIsNotThereIsAFailureAndNoUsage) {
  RecipeSource source;
  try {
    source.add_file("/nowhere/r.toml");
    ADD_FAILURE() << "nothing was refused";
  } catch (const UsageError&) {
    ADD_FAILURE() << "a UsageError";
  } catch (const Error& error) {
    EXPECT_EQ("cannot open /nowhere/r.toml: No such file or directory.", std::string(error.what()));
  }
}

}  // namespace
}  // namespace sadam::train
