// Folders of runs that nobody trained. Nothing waits for the disk.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/files.h"
#include "train/recipe/source.h"
#include "train/record/checkpoint_file.h"
#include "train/record/events.h"
#include "train/record/run_folder.h"

namespace sadam::testing {

/// A folder of the test's own, gone when the test is.
class RunsTest : public ::testing::Test {
 protected:
  train::RunPaths paths(const std::string& name) const { return {root_ / name}; }

  TemporaryFolder folder_;
  const std::filesystem::path& root_ = folder_.path();
};

inline train::Recipe recipe_with(const std::vector<std::string>& changes) {
  train::RecipeSource source;
  for (const auto& change : changes) source.set(change);
  return source.resolve();
}

/// The folder of a run that left these events and no checkpoint, instead of earlier ones. Returns how far its
/// events go.
inline train::FileMark write_events(const train::RunPaths& paths, const train::Recipe& recipe,
                                    const std::vector<train::Event>& events) {
  std::filesystem::create_directories(paths.folder);
  write_text(paths.recipe(), train::to_toml(recipe));
  std::string lines;
  for (const auto& event : events) lines += train::to_line(event);
  write_text(paths.events(), lines);
  return {lines.size(), train::checksum_of_first(lines.size(), paths.events())};
}

/// The checkpoint that a run leaves after its last step: nothing is in it but where it stands.
inline void write_checkpoint(const train::RunPaths& paths, const train::Position& position) {
  const auto bytes = train::seal(train::to_meta(position), {});
  write_text(paths.checkpoint(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Ten steps an epoch of 0.5 s each. The brakes go 0.2, 0.6, 0.2, …, ρ is 0.5 if the optimizer probes.
inline void write_run(const train::RunPaths& paths, const train::Recipe& recipe,
                      const std::vector<double>& accuracies) {
  const bool probes = recipe.optimizer.name == "sadam";
  std::vector<train::Event> events;
  train::Position position;
  for (const double accuracy : accuracies) {
    const auto number = ++position.epoch;
    for (int s = 0; s < 10; ++s) {
      train::StepEvent step;
      step.step = ++position.run.steps;
      step.epoch = number;
      step.loss = 2;
      step.probed = probes;
      step.lgi = probes ? 0.5 : 0;
      if (probes) step.brake = step.step % 2 == 1 ? 0.2 : 0.6;
      events.emplace_back(step);
    }
    train::EpochEvent epoch;
    epoch.epoch = number;
    epoch.step = position.run.steps;
    epoch.test_loss = 3.0 / static_cast<double>(number);
    epoch.test_accuracy = accuracy;
    epoch.train_seconds = 5.0 * static_cast<double>(number);
    epoch.evaluate_seconds = static_cast<double>(number);
    epoch.peak_memory = std::int64_t{1} << 30;
    events.emplace_back(epoch);
  }
  position.events = write_events(paths, recipe, events);
  position.recipe = train::to_toml(recipe);
  if (!accuracies.empty()) write_checkpoint(paths, position);
}

/// Three more steps of a run: one skipped, one with two probes that were not finite, one within rounding.
inline void add_irregular_steps(const train::RunPaths& paths) {
  std::ofstream events(paths.events(), std::ios::app | std::ios::binary);
  train::StepEvent step;
  step.epoch = 1;
  step.step = 11;
  step.skipped = true;
  events << train::to_line(step);
  step.skipped = false;
  step.probed = true;
  step.step = 12;
  step.non_finite_probes = 2;
  events << train::to_line(step);
  step.step = 13;
  step.non_finite_probes = 0;
  step.within_noise = true;
  events << train::to_line(step);
}

inline void append(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

}  // namespace sadam::testing
