#include "reproduce/check_runs.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/usage_error.h"
#include "data/data_set.h"
#include "data/data_set_known.h"
#include "nn/classifier.h"
#include "train/control.h"
#include "train/device.h"
#include "train/recipe/source.h"
#include "train/record/run_folder.h"
#include "train/setup.h"

namespace sadam::reproduce {
namespace {

// Puts the place of a field before what `check` says of its value.
template <class Check>
void check_field(const Plan& plan, const PlannedRun& run, const char* field, const Check& check) {
  try {
    check();
  } catch (const UsageError& error) {
    throw UsageError(place_of(plan, run, field) + error.what());
  } catch (const Error& error) {
    throw Error(place_of(plan, run, field) + error.what());
  }
}

// How many images a folder has is not known without reading it.
void check_images(const Plan& plan, const PlannedRun& run) {
  const auto& data = run.recipe.data;
  if (data::path_in_name(data.name)) return;
  const auto& set = data::known_set(data.name);
  const auto check = [&](const std::string& field, const char* part, std::int64_t wanted, std::size_t there) {
    if (static_cast<std::size_t>(wanted) > there)
      throw UsageError(place_of(plan, run, field) + field + " is " + std::to_string(wanted) + ", and " +
                       data.name + " has " + std::to_string(there) + " " + part +
                       " images: ask for fewer, or 0 for all.");
  };
  check("data.train_images", "training", data.train_images, set.train_images);
  check("data.test_images", "test", data.test_images, set.test_images);
}

std::int64_t pixels_of(const train::Recipe& recipe) {
  if (recipe.data.pixels > 0) return recipe.data.pixels;
  return static_cast<std::int64_t>(data::shape_of(recipe.data.name).pixels);
}

// Of a folder, that is not known either.
void check_last_batch(const train::Recipe& recipe) {
  if (data::path_in_name(recipe.data.name)) return;
  const auto all = static_cast<std::int64_t>(data::known_set(recipe.data.name).train_images);
  train::check_batches(recipe, recipe.data.train_images > 0 ? recipe.data.train_images : all,
                       pixels_of(recipe));
}

// Whether there is such a network for images of this size: nothing else of a recipe makes a difference.
// `known`: sizes for which there is, since making the network of a large one takes a while.
void check_network(const train::Recipe& recipe, std::set<std::int64_t>& known) {
  if (recipe.model.name != "qatnet") return;  // the other one takes any
  nn::ClassifierOptions options;
  options.name = recipe.model.name;
  options.pixels = pixels_of(recipe);
  options.classes = 1;
  if (known.contains(options.pixels)) return;
  nn::make_classifier(options);
  known.insert(options.pixels);
}

// Of a row that is itself a control, of a run that the plan does not make. Once begun it needs that run no
// more.
void check_control(const Plan& plan, const PlannedRun& run) {
  const auto& wanted = run.recipe.control.run;
  if (wanted.empty() || std::filesystem::exists(train::RunPaths{run.folder}.recipe())) return;
  if (std::any_of(plan.runs.begin(), plan.runs.end(),
                  [&](const PlannedRun& other) { return other.folder == wanted; }))
    return;
  auto recipe = run.recipe;
  train::settle_control(recipe);
}

void check_cell(const Plan& plan, const PlannedRun& run, std::set<std::int64_t>& known_pixels) {
  const auto& recipe = run.recipe;
  check_field(plan, run, "train.device", [&] { train::device_named(recipe.train.device); });
  check_field(plan, run, "data.name", [&] { data::shape_of(recipe.data.name); });
  check_images(plan, run);
  check_field(plan, run, recipe.data.pixels > 0 ? "data.pixels" : "",
              [&] { check_network(recipe, known_pixels); });
  check_field(plan, run, "train.batch", [&] { check_last_batch(recipe); });
  check_field(plan, run, "control.run", [&] { check_control(plan, run); });
}

}  // namespace

std::string place_of(const Plan& plan, const PlannedRun& run, const std::string& field) {
  const auto where = run.source->where(field);
  if (where.starts_with("--")) return "";
  return (where.empty() ? plan.table.origin : where) + ", " + run.cell(plan.table) + ": ";
}

void check_runs(const Plan& plan) {
  // Seeds and controls of a cell have its data, network and device.
  std::set<std::pair<std::size_t, std::size_t>> checked;
  std::set<std::int64_t> known_pixels;
  for (const auto& run : plan.runs)
    if (run.control == Control::none && checked.emplace(run.column, run.row).second)
      check_cell(plan, run, known_pixels);
}

}  // namespace sadam::reproduce
