// What a run keeps beside its last checkpoint: the one before it, and that of the best epoch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "nn/classifier.h"
#include "support/files.h"
#include "support/small_runs.h"
#include "train/checkpoint.h"
#include "train/progress.h"
#include "train/recipe/source.h"
#include "train/trained_run.h"

namespace sadam::train {
namespace {

namespace fs = std::filesystem;

using sadam::testing::expect_same_events;
using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::small_recipe;
using sadam::testing::text_of_file;
using sadam::testing::write_text;

constexpr CheckpointChoice kBest{.best = true};

// What it said.
std::string resume(const RunPaths& paths, Outcome expected = Outcome::finished) {
  std::ostringstream said;
  Progress progress(said, {.style = ProgressStyle::quiet});
  EXPECT_EQ(continue_run(RunFolder::open(paths.folder), {.progress = &progress}), expected);
  return said.str();
}

void expect_same_runs(const RunPaths& a, const RunPaths& b) {
  expect_same_events(read_events(a.events()), read_events(b.events()));
  EXPECT_EQ(export_run(a, recipe_of(a)), export_run(b, recipe_of(b)));
  EXPECT_EQ(export_run(a, recipe_of(a), kBest), export_run(b, recipe_of(b), kBest));
}

class KeepTest : public sadam::testing::SmallRunsTest {};

TEST_F(KeepTest, ADamagedCheckpointIsNotTheEndOfARun) {
  const auto whole = finished_run("whole");
  const auto damage = [&](const std::string& name, auto&& how) {
    const auto paths = stopped_run(name);
    how(paths.checkpoint());
    const bool gone = !fs::exists(paths.checkpoint());
    EXPECT_EQ(resume(paths),
              paths.checkpoint().string() + (gone ? " is gone" : " is damaged") +
                  ": the checkpoint before it is used, checkpoint.previous.pt, after step 4.\n");
    expect_same_runs(paths, whole);
    EXPECT_EQ(resume(paths, Outcome::was_finished), "");
  };
  damage("cut", [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); });
  damage("turned", [](const fs::path& file) {
    auto bytes = text_of_file(file);
    bytes[bytes.size() / 2] ^= 1;
    write_text(file, bytes);
  });
  damage("gone", [](const fs::path& file) { fs::remove(file); });
}

TEST_F(KeepTest, TheOneBeforeTheLastIsNeverReplacedByADamagedOne) {
  const auto paths = stopped_run("a");
  write_text(paths.checkpoint(), "rubbish");
  sadam::testing::StopAfter stop(1);
  EXPECT_EQ(continue_run(RunFolder::open(paths.folder), stop.options()), Outcome::stopped);
  EXPECT_EQ(saved_position(paths).value().step(), 5);
  fs::remove(paths.checkpoint());
  EXPECT_TRUE(says(resume(paths), "after step 4."));
}

TEST_F(KeepTest, WithoutAWholeOneTheLastIsRefused) {
  const auto paths = stopped_run("a");
  write_text(paths.checkpoint(), "rubbish");
  write_text(paths.previous_checkpoint(), "SADAMRUN");
  EXPECT_TRUE(says(refusal([&] { resume(paths); }), "checkpoint.pt: this is not a checkpoint of sadam"));
  fs::remove(paths.checkpoint());
  EXPECT_TRUE(says(refusal([&] { resume(paths); }), "checkpoint.previous.pt: the checkpoint is cut short"));
}

TEST_F(KeepTest, ACheckpointOfANewerSadamIsNotTakenForADamagedOne) {
  const auto paths = stopped_run("a");
  auto bytes = text_of_file(paths.checkpoint());
  bytes[8] = 2;
  write_text(paths.checkpoint(), bytes);
  EXPECT_TRUE(says(refusal([&] { resume(paths); }), "use a newer sadam"));
  EXPECT_EQ(text_of_file(paths.checkpoint()), bytes);
}

TEST_F(KeepTest, WhoUsesTheWeightsIsToldWhichTheyAre) {
  const auto paths = stopped_run("a");
  fs::remove(paths.checkpoint());
  std::ostringstream said;
  const CheckpointChoice choice{.said = &said};
  EXPECT_EQ(evaluate_run(paths, recipe_of(paths), nullptr, choice)->step, 4);
  EXPECT_EQ(said.str(), paths.checkpoint().string() +
                            " is gone: the checkpoint before it is used, checkpoint.previous.pt, after step "
                            "4.\n");
  said.str("");
  export_run(paths, recipe_of(paths), choice);
  network_and_batch(paths, recipe_of(paths), choice);
  const auto lines = said.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

TEST_F(KeepTest, TheBestEpochIsTheFirstOfTheHighestAccuracy) {
  auto recipe = small_recipe(6);
  recipe.optimizer.lr = 0.01;
  const auto paths = finished_run("a", recipe);
  const auto events = read_events(paths.events());
  const auto* best = best_of(events.epochs);
  for (const auto& epoch : events.epochs) {
    EXPECT_LE(epoch.test_accuracy, best->test_accuracy);
    if (epoch.epoch < best->epoch) {
      EXPECT_LT(epoch.test_accuracy, best->test_accuracy);
    }
  }
  ASSERT_LT(best->epoch, 6) << "the last epoch is the best: the test needs another recipe";
  const auto evaluation = evaluate_run(paths, recipe_of(paths), nullptr, kBest).value();
  EXPECT_EQ(evaluation.epoch, best->epoch);
  EXPECT_EQ(evaluation.accuracy, best->test_accuracy);
  EXPECT_EQ(evaluation.loss, best->test_loss);
  EXPECT_NE(export_run(paths, recipe_of(paths), kBest), export_run(paths, recipe_of(paths)));
}

// Whatever moment it was killed in: the best is kept after the checkpoint.
TEST_F(KeepTest, ARunKilledBeforeItKeptTheBestKeepsItWhenItIsResumed) {
  const auto paths = finished_run("a", small_recipe(1));
  const auto best = text_of_file(paths.best_checkpoint());
  fs::remove(paths.best_checkpoint());
  write_text(paths.best_checkpoint().string() + ".tmp", "what a killed run left");
  EXPECT_TRUE(says(refusal([&] { export_run(paths, recipe_of(paths), kBest); }), "leave out --best"));
  resume(paths, Outcome::was_finished);
  EXPECT_EQ(text_of_file(paths.best_checkpoint()), best);
  EXPECT_FALSE(fs::exists(paths.best_checkpoint().string() + ".tmp"));
}

TEST_F(KeepTest, ARunThatGoesBackBeforeItsBestEpochEndsWithTheSameBest) {
  auto recipe = small_recipe(6);
  recipe.optimizer.lr = 0.01;
  const auto whole = finished_run("whole", recipe);
  const auto best = best_of(read_events(whole.events()).epochs)->epoch;
  const auto paths = RunPaths{folder_ / "back"};
  DataSets data;
  {
    const auto made = begin_run(paths.folder, recipe, data);
    sadam::testing::StopAfter stop(static_cast<int>(5 * best));  // right after the best epoch
    continue_run(made, stop.options());
  }
  EXPECT_EQ(saved_position(paths).value().epoch, best);
  // The end of an epoch is saved, and so is the stop: both stand after the best epoch. As if it had been
  // killed after the save before.
  fs::remove(paths.checkpoint());
  fs::remove(paths.previous_checkpoint());
  auto lines = text_of_file(paths.events());
  lines.resize(lines.find("\"step\":4,"));
  write_text(paths.events(), lines);
  resume(paths);
  expect_same_runs(paths, whole);
}

TEST_F(KeepTest, ABestThatIsNotOfTheseEventsIsRefusedWithTheWayOut) {
  const auto paths = stopped_run("a");
  const auto other = finished_run("b", small_recipe(1));  // the same steps, at another time
  fs::copy_file(other.best_checkpoint(), paths.best_checkpoint(), fs::copy_options::overwrite_existing);
  const auto sentence = refusal([&] { evaluate_run(paths, recipe_of(paths), nullptr, kBest); });
  EXPECT_TRUE(says(sentence, "best.pt is not of epoch 1, which is the best by"));
  EXPECT_TRUE(says(sentence, "leave out --best"));
}

TEST_F(KeepTest, ARunWithoutABestSaysTheWayOut) {
  const auto paths = stopped_run("a");
  write_text(paths.best_checkpoint(), "damage");
  EXPECT_TRUE(says(refusal([&] { evaluate_run(paths, recipe_of(paths), nullptr, kBest); }),
                   "best.pt is damaged or cannot be read: leave out --best for the last checkpoint"));
  fs::remove(paths.best_checkpoint());
  EXPECT_TRUE(
      says(refusal([&] { evaluate_run(paths, recipe_of(paths), nullptr, kBest); }),
           "best.pt is not there, because the run is of an older sadam or the file was removed: leave "
           "out --best for the last checkpoint, or train the run anew."));
  DataSets data;
  const auto new_run = begin_run(folder_ / "new", small_recipe(), data);
  EXPECT_TRUE(says(refusal([&] { export_run(new_run.paths(), small_recipe(), kBest); }),
                   "has no best epoch yet: train it for an epoch (sadam train --resume "));
}

TEST_F(KeepTest, ValidationImagesChooseTheBestEpoch) {
  auto recipe = small_recipe(6);
  recipe.data.validation_images = 60;
  const auto paths = finished_run("validated", recipe);
  const auto events = read_events(paths.events());
  const auto* const best = best_validated(events.epochs);
  ASSERT_NE(best, nullptr);
  for (const auto& epoch : events.epochs) {
    ASSERT_TRUE(epoch.validation_accuracy && epoch.validation_loss);
    EXPECT_LE(*epoch.validation_accuracy, *best->validation_accuracy);
  }
  ASSERT_NE(best->epoch, best_of(events.epochs)->epoch) << "the test needs another recipe";
  EXPECT_EQ(evaluate_run(paths, recipe_of(paths), nullptr, kBest).value().epoch, best->epoch);
}

// ---- another number of epochs -----------------------------------------------------------------------------

class EpochsTest : public KeepTest {
 protected:
  static void change(const RunPaths& paths, std::int64_t epochs) {
    auto wanted = recipe_of(paths);
    wanted.train.epochs = epochs;
    DataSets data;
    change_recipe(RunFolder::open(paths.folder), wanted, data);
  }
  // The sentence; run.toml is as it was.
  static std::string refused(const RunPaths& paths, std::int64_t epochs) {
    const auto before = text_of_file(paths.recipe());
    auto sentence = refusal([&] { change(paths, epochs); });
    EXPECT_EQ(text_of_file(paths.recipe()), before);
    return sentence;
  }
};

TEST_F(EpochsTest, ARunThatIsExtendedEqualsOneThatWasToldSoAtOnce) {
  auto recipe = small_recipe(4);
  recipe.watch.chatter = 3;
  recipe.watch.regimes = 1;
  recipe.schedule.name = "step";
  recipe.schedule.warmup = 3;
  const auto long_run = finished_run("long", recipe);
  recipe.train.epochs = 2;
  const auto finished = finished_run("finished", recipe);
  const auto stopped = stopped_run("stopped", recipe);
  for (const auto& paths : {finished, stopped}) {
    const auto run_table = text_of_file(paths.recipe()).substr(text_of_file(paths.recipe()).find("[run]"));
    change(paths, 4);
    EXPECT_EQ(recipe_of(paths).train.epochs, 4);
    EXPECT_TRUE(text_of_file(paths.recipe()).ends_with(run_table));
    resume(paths);
    expect_same_runs(paths, long_run);
  }
}

TEST_F(EpochsTest, ARunThatIsShortenedEqualsOneThatWasToldSoAtOnce) {
  const auto short_run = finished_run("short", small_recipe(2));
  const auto paths = stopped_run("stopped", small_recipe(3));
  change(paths, 2);
  resume(paths);
  expect_same_runs(paths, short_run);
}

// Killed after run.toml was written, it goes on with what that says; killed before, with what it was told.
TEST_F(EpochsTest, ARunKilledBetweenRecipeAndCheckpointGoesOn) {
  const auto long_run = finished_run("long", small_recipe(3));
  const auto paths = finished_run("short", small_recipe(2));
  change(paths, 3);
  change(paths, 2);
  EXPECT_EQ(resume(paths, Outcome::was_finished), "");
  change(paths, 3);
  resume(paths);
  expect_same_runs(paths, long_run);
}

TEST_F(EpochsTest, WhatDependsOnTheirNumberIsRefusedWithTheReason) {
  auto recipe = small_recipe(3);
  recipe.schedule.name = "cosine";
  EXPECT_EQ(refused(stopped_run("cosine", recipe), 4),
            "train.epochs cannot go from 3 to 4, because the schedule 'cosine' spans all epochs and all "
            "learning rates would have been others: train another run with --set train.epochs=4.");
  const auto braked = finished_run("braked", small_recipe(3));
  recipe = small_recipe(3);
  recipe.optimizer.name = "adamw";
  recipe.control.run = braked.folder.string();
  for (const std::string kind : {"matched", "shuffled", "replayed"}) {
    recipe.control.kind = kind;
    EXPECT_TRUE(says(refused(finished_run(kind, recipe), 4),
                     "because a '" + kind + "' control has the brakes of a run of 3 epochs: "));
  }
}

TEST_F(EpochsTest, FewerThanAreBegunAreRefused) {
  const auto paths = stopped_run("a");
  EXPECT_EQ(refused(paths, 1),
            "train.epochs cannot go from 3 to 1, because 2 epochs are begun: ask for at least 2.");
}

TEST_F(EpochsTest, ARecipeThatWasChangedByHandIsHeldToTheSame) {
  auto recipe = small_recipe(3);
  recipe.schedule.name = "cosine";
  const auto paths = stopped_run("a", recipe);
  auto text = text_of_file(paths.recipe());
  write_text(paths.recipe(), text.replace(text.find("epochs = 3"), 10, "epochs = 5"));
  EXPECT_TRUE(says(refusal([&] { resume(paths); }), "checkpoint.pt: train.epochs cannot go from 3 to 5"));
}

// ---- TensorBoard ------------------------------------------------------------------------------------------

// Tags, steps and values as they lie in a record; the times, which the system's clock gives, are blanked out.
std::multiset<std::string> points_in(const RunPaths& paths) {
  const auto file = text_of_file(paths.tensorboard_file());
  std::multiset<std::string> points;
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    constexpr std::size_t kHead = 12;
    constexpr std::size_t kTime = 9;
    auto record = file.substr(at + kHead + kTime, length - kTime);
    const bool varies = record.find("step_seconds") != std::string::npos ||
                        record.find("_hparams_") != std::string::npos;  // times
    if (!varies) points.insert(std::move(record));
    at += kHead + length + 4;
  }
  return points;
}

TEST_F(KeepTest, ALostTensorBoardFileIsMadeAnew) {
  auto recipe = small_recipe(3);
  recipe.watch.chatter = 3;
  const auto whole = finished_run("whole", recipe);
  const auto points = points_in(whole);
  EXPECT_GT(points.size(), 12U * 4 + 3 * 3 + 4 * 2);
  const auto made_anew = [](const RunPaths& paths) {
    return paths.tensorboard_file().string() + " is damaged or gone: it is made anew from events.jsonl.\n";
  };
  const auto lost = stopped_run("lost", recipe);
  fs::remove(lost.tensorboard_file());
  fs::remove(lost.tensorboard());
  EXPECT_EQ(resume(lost), made_anew(lost));
  EXPECT_EQ(points_in(lost), points);

  const auto damaged = stopped_run("damaged", recipe);
  auto file = text_of_file(damaged.tensorboard_file());
  file[file.size() / 2] ^= 1;
  write_text(damaged.tensorboard_file(), file);
  EXPECT_EQ(resume(damaged), made_anew(damaged));
  EXPECT_EQ(points_in(damaged), points);

  // Of a finished run too; and after that nothing is wrong.
  write_text(damaged.tensorboard_file(), "");
  EXPECT_EQ(resume(damaged, Outcome::was_finished), made_anew(damaged));
  EXPECT_EQ(points_in(damaged), points);
  EXPECT_EQ(resume(damaged, Outcome::was_finished), "");
}

TEST_F(EpochsTest, ARefusedExtensionLeavesTheRecipeAlone) {
  const auto paths = finished_run("run");
  fs::remove_all(paths.tensorboard());
  write_text(paths.tensorboard(), "x");
  const auto before = text_of_file(paths.recipe());
  DataSets data;
  EXPECT_TRUE(says(refusal([&] { change_recipe(RunFolder::open(paths.folder), small_recipe(9), data); }),
                   "move it away"));
  EXPECT_EQ(text_of_file(paths.recipe()), before);
}

// As every run from before.
TEST_F(KeepTest, ARunWithoutTheNewFilesGoesOn) {
  const auto whole = finished_run("whole");
  const auto paths = stopped_run("old");
  fs::remove(paths.previous_checkpoint());
  fs::remove(paths.best_checkpoint());
  EXPECT_EQ(resume(paths), "");
  EXPECT_EQ(export_run(paths, recipe_of(paths)), export_run(whole, recipe_of(whole)));
}

}  // namespace
}  // namespace sadam::train
