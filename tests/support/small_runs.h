// Runs that take a moment, and a way to stop them where a test wants.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "support/temporary_folder.h"
#include "train/progress.h"
#include "train/record/events.h"
#include "train/setup.h"
#include "train/trainer.h"

namespace sadam::testing {

/// Four batches an epoch, of 16, 16, 16 and 12 images.
inline train::Recipe small_recipe(std::int64_t epochs = 2) {
  train::Recipe recipe;
  recipe.data.name = "synthetic10";
  recipe.data.train_images = 60;
  recipe.data.test_images = 40;
  recipe.train.batch = 16;
  recipe.train.epochs = epochs;
  recipe.train.threads = 1;
  return recipe;
}

/// A run from its first step to its last.
inline train::EventFile whole_run(const std::filesystem::path& folder, const train::Recipe& recipe) {
  train::DataSets data;
  const auto made = train::begin_run(folder, recipe, data);
  EXPECT_EQ(train::continue_run(made, {}), train::Outcome::finished);
  return train::read_events(made.paths().events());
}

/// All but what time they took.
inline void expect_same_events(const train::EventFile& a, const train::EventFile& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  ASSERT_EQ(a.epochs.size(), b.epochs.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].loss, b.steps[i].loss) << "step " << i;
    EXPECT_EQ(a.steps[i].lgi, b.steps[i].lgi) << "step " << i;
    EXPECT_EQ(a.steps[i].lr, b.steps[i].lr) << "step " << i;
  }
  for (std::size_t i = 0; i < a.epochs.size(); ++i) {
    EXPECT_EQ(a.epochs[i].test_loss, b.epochs[i].test_loss) << "epoch " << i;
    EXPECT_EQ(a.epochs[i].train_loss, b.epochs[i].train_loss) << "epoch " << i;
    EXPECT_EQ(a.epochs[i].test_accuracy, b.epochs[i].test_accuracy) << "epoch " << i;
  }
  ASSERT_EQ(a.chatter.size(), b.chatter.size());
  for (std::size_t i = 0; i < a.chatter.size(); ++i) {
    EXPECT_EQ(a.chatter[i].step, b.chatter[i].step);
    EXPECT_EQ(a.chatter[i].chatter, b.chatter[i].chatter) << "window " << i;
    EXPECT_EQ(a.chatter[i].flips, b.chatter[i].flips) << "window " << i;
  }
  ASSERT_EQ(a.regimes.size(), b.regimes.size());
  for (std::size_t i = 0; i < a.regimes.size(); ++i) {
    EXPECT_EQ(a.regimes[i].step, b.regimes[i].step);
    EXPECT_EQ(a.regimes[i].score, b.regimes[i].score) << "change " << i;
  }
}

/// Asks a run on the CPU to stop, as Ctrl-C does, after so many steps and ends of epochs; with 0, before
/// anything.
class StopAfter : private std::stringbuf {
 public:
  explicit StopAfter(int events) : left_(events), stop_(events == 0) {}
  train::RunOptions options() { return {.progress = &progress_, .stop = &stop_}; }

 private:
  // A line for each step, since the clock runs so fast, and one for each epoch.
  int sync() override {
    const auto line = str();
    str("");
    if (line.starts_with("epoch") && line.find("evaluating") == std::string::npos && --left_ == 0)
      stop_ = true;
    return 0;
  }

  int left_;
  std::atomic<bool> stop_;
  double now_ = 0;
  std::ostream out_{this};
  train::Progress progress_{out_,
                            {.style = train::ProgressStyle::plain, .clock = [this] { return now_ += 60; }}};
};

/// Begins a run of four steps an epoch and stops it in its second epoch, as Ctrl-C does: the last checkpoint
/// is after step 6, the one before after 4.
inline train::RunPaths stopped_in_second_epoch(const std::filesystem::path& folder,
                                               const train::Recipe& recipe) {
  train::DataSets data;
  const auto made = train::begin_run(folder, recipe, data);
  StopAfter stop(4 + 1 + 2);
  EXPECT_EQ(train::continue_run(made, stop.options()), train::Outcome::stopped);
  return made.paths();
}

/// Tests that need a run to do something with. Each is trained once for all of them, which get copies.
class SmallRunsTest : public ::testing::Test {
 protected:
  train::RunPaths stopped_run(const std::string& name, const train::Recipe& recipe = small_recipe(3)) const {
    return copy_to(name, "stopped\n", recipe, stopped_in_second_epoch);
  }
  train::RunPaths finished_run(const std::string& name, const train::Recipe& recipe = small_recipe(3)) const {
    return copy_to(name, "finished\n", recipe, whole_run);
  }

  TemporaryFolder folder_;

 private:
  template <class Make>
  train::RunPaths copy_to(const std::string& name, const std::string& kind, const train::Recipe& recipe,
                          const Make& make) const {
    static const TemporaryFolder originals;
    static std::map<std::string, std::filesystem::path> made;
    auto& original = made[kind + train::to_toml(recipe)];
    if (original.empty()) {
      original = originals / std::to_string(made.size());
      make(original, recipe);
    }
    std::filesystem::copy(original, folder_ / name, std::filesystem::copy_options::recursive);
    return {folder_ / name};
  }
};

}  // namespace sadam::testing
