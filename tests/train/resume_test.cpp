// A run goes on only with what belongs to it; what does not is named in one sentence, and nothing is touched.
#include "train/checkpoint.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <map>
#include <sstream>

#include "support/files.h"
#include "support/small_runs.h"
#include "train/progress.h"
#include "train/record/events.h"
#include "train/setup.h"
#include "train/trained_run.h"
#include "train/trainer.h"

namespace sadam::train {
namespace {

namespace fs = std::filesystem;

using sadam::testing::text_of_file;
using sadam::testing::write_text;

void replace_in(const fs::path& path, const std::string& old_text, const std::string& new_text) {
  auto text = text_of_file(path);
  const auto at = text.find(old_text);
  ASSERT_NE(at, std::string::npos) << old_text;
  write_text(path, text.replace(at, old_text.size(), new_text));
}

class ResumeTest : public sadam::testing::SmallRunsTest {
 protected:
  std::map<fs::path, std::string> everything_in(const RunPaths& paths) const {
    std::map<fs::path, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(paths.folder))
      if (entry.is_regular_file()) files[entry.path()] = text_of_file(entry.path());
    return files;
  }

  // The sentence; the folder is as it was.
  std::string refused(const RunPaths& paths) const {
    const auto before = everything_in(paths);
    auto sentence = sadam::testing::refusal([&] { continue_run(RunFolder::open(paths.folder), {}); });
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    EXPECT_TRUE(everything_in(paths) == before) << "something was changed";
    return sentence;
  }
};

TEST_F(ResumeTest, ARecipeThatWasChangedIsRefusedWithTheField) {
  const auto paths = stopped_run("a");
  replace_in(paths.recipe(), "probes = 2", "probes = 4");
  EXPECT_EQ(refused(paths), paths.checkpoint().string() + ": it was made with optimizer.probes = 2, and " +
                                paths.recipe().string() +
                                " says 4: put the right file back, or train another run.");
  EXPECT_THROW(evaluate_run(paths, recipe_of(paths), nullptr), Error);
  EXPECT_THROW(export_run(paths, recipe_of(paths)), Error);
  replace_in(paths.recipe(), "seed = 42", "seed = 43");
  EXPECT_NE(refused(paths).find("seed = 42"), std::string::npos);
}

TEST_F(ResumeTest, WhatDecidesNothingMayChange) {
  const auto paths = stopped_run("a");
  replace_in(paths.recipe(), "title = \"\"", "title = \"another\"");
  replace_in(paths.recipe(), "root = \"data\"", "root = \"elsewhere\"");
  replace_in(paths.recipe(), "checkpoint_every = 0", "checkpoint_every = 1");
  EXPECT_EQ(continue_run(RunFolder::open(paths.folder), {}), Outcome::finished);
}

TEST_F(ResumeTest, TheCheckpointOfAnotherRunIsRefused) {
  const auto paths = stopped_run("a");
  ASSERT_EQ(saved_position(paths).value().step(), 6);
  auto recipe = sadam::testing::small_recipe(3);
  const auto same_recipe = sadam::testing::stopped_in_second_epoch(folder_ / "b", recipe);
  recipe.seed = 1;
  const auto other_seed = stopped_run("c", recipe);
  fs::copy_file(other_seed.checkpoint(), paths.checkpoint(), fs::copy_options::overwrite_existing);
  EXPECT_NE(refused(paths).find("it was made with seed = 1, and"), std::string::npos);
  // One recipe, and the same steps, but not the same run: it has taken other times.
  fs::copy_file(same_recipe.checkpoint(), paths.checkpoint(), fs::copy_options::overwrite_existing);
  EXPECT_NE(refused(paths).find("events.jsonl"), std::string::npos);
}

TEST_F(ResumeTest, EventsThatWereChangedInTheMiddleAreRefused) {
  const auto paths = stopped_run("a");
  const auto events = text_of_file(paths.events());
  replace_in(paths.events(), "\"step\":2,", "\"step\":7,");
  EXPECT_EQ(refused(paths).rfind(paths.events().string() + " is not what it was at the last checkpoint", 0),
            0U);
  write_text(paths.events(), events.substr(0, events.size() - 5));
  EXPECT_EQ(refused(paths).rfind(paths.events().string() + " has ", 0), 0U);
  fs::remove(paths.events());
  EXPECT_EQ(refused(paths).rfind(paths.events().string() + " is gone", 0), 0U);
  // What came after the checkpoint is cut off, whatever it is.
  write_text(paths.events(), events + "{\"event\":");
  EXPECT_EQ(continue_run(RunFolder::open(paths.folder), {}), Outcome::finished);
  EXPECT_EQ(read_events(paths.events()).steps.size(), 12U);
}

TEST_F(ResumeTest, WithoutACheckpointItSaysThatItStartsAgainAndEndsAsAWholeOne) {
  const auto whole = stopped_run("whole");
  EXPECT_EQ(continue_run(RunFolder::open(whole.folder), {}), Outcome::finished);
  const auto paths = stopped_run("killed");
  fs::remove(paths.checkpoint());
  fs::remove(paths.previous_checkpoint());
  // Killed before its first checkpoint: within the first epoch, or while that was being saved.
  auto lines = text_of_file(paths.events());
  lines.resize(lines.find("\"step\":4,"));
  write_text(paths.events(), lines);
  std::ostringstream said;
  Progress progress(said, {.style = ProgressStyle::quiet});
  EXPECT_EQ(continue_run(RunFolder::open(paths.folder), {.progress = &progress}), Outcome::finished);
  EXPECT_EQ(said.str(), paths.folder.string() +
                            " starts again from step 0, because it has no checkpoint; it had come to step "
                            "3.\n");
  EXPECT_EQ(export_run(paths, recipe_of(paths)), export_run(whole, recipe_of(whole)));
}

TEST_F(ResumeTest, ACheckpointThatWasThereAndIsGoneIsMissed) {
  const auto paths = stopped_run("a");
  ASSERT_EQ(continue_run(RunFolder::open(paths.folder), {}), Outcome::finished);
  fs::remove(paths.checkpoint());
  fs::remove(paths.previous_checkpoint());
  EXPECT_NE(refused(paths).find("checkpoint.pt is gone, and"), std::string::npos);
}

TEST_F(ResumeTest, AnEmptyRecipeIsNotTheDefaultOne) {
  const auto paths = stopped_run("a");
  write_text(paths.recipe(), "");
  EXPECT_EQ(refused(paths).rfind(paths.recipe().string() + " is empty", 0), 0U);
}

}  // namespace
}  // namespace sadam::train
