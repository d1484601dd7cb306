// What a run goes on from, looked at before anything is touched.
#include <fmt/format.h>
#include <sadam/error.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/quantities.h"
#include "base/usage_error.h"
#include "train/checkpoint.h"
#include "train/recipe/fields.h"
#include "train/recipe/source.h"
#include "train/record/events.h"

namespace sadam::train {
namespace {

void check_recipe(const RunPaths& paths, const Recipe& recipe, const Position& position) {
  auto made_with = recipe_in(position.recipe, "its recipe");
  made_with.train.epochs = recipe.train.epochs;  // may be another, within limits
  auto found = differences(made_with, recipe);
  // A folder of images may be moved: what it holds is looked at when it is opened.
  std::erase_if(found, [](const Difference& each) {
    return each.field == "data.name" && each.first.starts_with("\"folder:") &&
           each.second.starts_with("\"folder:");
  });
  if (found.empty()) return check_epochs(position, recipe);
  const auto& one = found.front();
  throw Error(fmt::format(
      "it was made with {} = {}, and {} says {}{}: put the right file back, or train another run.", one.field,
      one.first, paths.recipe().string(), one.second, found.size() > 1 ? ", among other differences" : ""));
}

using Bytes = std::vector<std::byte>;

// Nothing if there is none. Throws an Error that names it if it is damaged.
std::optional<Bytes> whole_file(const std::filesystem::path& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable) && !unreadable) return std::nullopt;
  auto file = base::read_file(path);
  naming_checkpoint(path, [&] { open_envelope(file); });
  return file;
}

SavedRun saved_run(const RunPaths& paths, const std::filesystem::path& path, Bytes file,
                   const Recipe& recipe) {
  SavedRun saved{path, std::move(file), {}, {}};
  naming_checkpoint(path, [&] {
    saved.position = from_meta(open_envelope(saved.file).meta);
    check_recipe(paths, recipe, saved.position);
  });
  return saved;
}

}  // namespace

std::optional<SavedRun> read_checkpoint(const RunPaths& paths, const Recipe& recipe) {
  std::optional<Bytes> file;
  std::string damage;
  try {
    file = whole_file(paths.checkpoint());
  } catch (const NewerCheckpoint&) {
    throw;
  } catch (const Error& error) {
    damage = error.what();
  }
  if (file) return saved_run(paths, paths.checkpoint(), std::move(*file), recipe);
  try {
    file = whole_file(paths.previous_checkpoint());
  } catch (const Error&) {
    if (damage.empty()) throw;
  }
  if (!file && !damage.empty()) throw Error(damage);
  if (!file) return std::nullopt;
  auto saved = saved_run(paths, paths.previous_checkpoint(), std::move(*file), recipe);
  saved.instead = fmt::format("{} is {}: the checkpoint before it is used, {}, after step {}.",
                              paths.checkpoint().string(), damage.empty() ? "gone" : "damaged",
                              saved.path.filename().string(), saved.position.step());
  return saved;
}

SavedRun read_best_checkpoint(const RunPaths& paths, const Recipe& recipe) {
  const auto path = paths.best_checkpoint();
  std::error_code unreadable;
  const auto events =
      std::filesystem::exists(paths.events(), unreadable) ? read_events(paths.events()) : EventFile{};
  const auto* const best = epoch_to_keep(events.epochs);
  if (best == nullptr)
    throw Error(fmt::format("{} has no best epoch yet: train it for an epoch (sadam train --resume {}).",
                            paths.folder.string(), paths.folder.string()));
  constexpr const char* kWayOut = "leave out --best for the last checkpoint, or train the run anew";
  std::optional<Bytes> file;
  try {
    file = whole_file(path);
  } catch (const NewerCheckpoint&) {
    throw;
  } catch (const Error&) {
    throw Error(fmt::format("{} is damaged or cannot be read: {}.", path.string(), kWayOut));
  }
  if (!file)
    throw Error(
        fmt::format("{} is not there, because the run is of an older sadam or the file was removed: {}.",
                    path.string(), kWayOut));
  auto saved = saved_run(paths, path, std::move(*file), recipe);
  bool is_of_these_events = saved.position.epoch == best->epoch;
  try {
    check_unchanged_since(saved.position.events, paths.events());
  } catch (const Error&) {
    is_of_these_events = false;
  }
  if (!is_of_these_events)
    throw Error(
        fmt::format("{} is not of epoch {}, which is the best by {}: go on with the run (sadam train "
                    "--resume {}), or {}.",
                    path.string(), best->epoch, paths.events().string(), paths.folder.string(), kWayOut));
  return saved;
}

void check_epochs(const Position& position, const Recipe& recipe) {
  const auto before = recipe_in(position.recipe, "its recipe").train.epochs;
  const auto wanted = recipe.train.epochs;
  if (wanted == before) return;
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("train.epochs cannot go from {} to {}, because {}.", before, wanted, why));
  };
  if (spans_the_run(value_named<Schedule>(recipe.schedule.name, "schedule.name")))
    refuse(fmt::format(
        "the schedule '{}' spans all epochs and all learning rates would have been others: train another "
        "run with --set train.epochs={}",
        recipe.schedule.name, wanted));
  if (has_brakes_of_a_run(control_of(recipe)))
    refuse(
        fmt::format("a '{}' control has the brakes of a run of {} epochs: train another run of S-Adam and "
                    "another control",
                    recipe.control.kind, before));
  const auto begun = position.epoch + (position.this_epoch.steps > 0 ? 1 : 0);
  if (wanted < begun)
    refuse(fmt::format("{} are begun: ask for at least {}",
                       base::counted(static_cast<std::uint64_t>(begun), "epoch"), begun));
}

std::int64_t steps_without_checkpoint(const RunPaths& paths) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(paths.events(), unreadable)) return 0;
  const auto events = read_events(paths.events());
  const auto steps = events.steps.empty() ? 0 : events.steps.back().step;
  // The end of an epoch is saved before the next step is taken.
  if (!events.epochs.empty() && steps > events.epochs.front().step)
    throw Error(
        fmt::format("{} is gone, and {} has {} steps: put it back, or start the run anew (sadam train {}).",
                    paths.checkpoint().string(), paths.events().string(), steps, paths.recipe().string()));
  return steps;
}

}  // namespace sadam::train
