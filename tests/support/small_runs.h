// Runs that take a moment, and a way to stop them where a test wants.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>

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

}  // namespace sadam::testing
