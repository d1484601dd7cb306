// What a run goes on from, looked at before anything is touched.
#include <fmt/format.h>
#include <sadam/error.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "train/checkpoint.h"
#include "train/recipe/fields.h"
#include "train/recipe/source.h"
#include "train/record/events.h"

namespace sadam::train {
namespace {

Recipe recipe_in(const Position& position) {
  RecipeSource source;
  source.add_text(position.recipe, "its recipe");
  return source.resolve();
}

void check_recipe(const RunPaths& paths, const Recipe& recipe, const Position& position) {
  auto found = differences(recipe_in(position), recipe);
  // A folder of images may be moved: what it holds is looked at when it is opened.
  std::erase_if(found, [](const Difference& each) {
    return each.field == "data.name" && each.first.starts_with("\"folder:") &&
           each.second.starts_with("\"folder:");
  });
  if (found.empty()) return;
  const auto& one = found.front();
  throw Error(fmt::format(
      "it was made with {} = {}, and {} says {}{}: put the right file back, or train another run.", one.field,
      one.first, paths.recipe().string(), one.second, found.size() > 1 ? ", among other differences" : ""));
}

}  // namespace

std::optional<SavedRun> read_checkpoint(const RunPaths& paths, const Recipe& recipe) {
  std::error_code unreadable;
  if (!std::filesystem::exists(paths.checkpoint(), unreadable) && !unreadable) return std::nullopt;
  SavedRun saved{base::read_file(paths.checkpoint()), {}};
  try {
    saved.position = from_meta(open_envelope(saved.file).meta);
    check_recipe(paths, recipe, saved.position);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", paths.checkpoint().string(), error.what()));
  }
  return saved;
}

void check_event_files(const RunPaths& paths, const Position& position) {
  check_unchanged_since(position.events, paths.events());
  check_unchanged_since(position.tensorboard, paths.tensorboard_file());
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
