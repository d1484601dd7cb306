// What can be known of the runs of a plan before the first of them is trained.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/usage_error.h"
#include "data/catalogue.h"
#include "data/data_set.h"
#include "data/folder.h"
#include "nn/classifier.h"
#include "reproduce/execute.h"
#include "train/device.h"
#include "train/recipe/fields.h"
#include "train/recipe/source.h"
#include "train/record/run_folder.h"
#include "train/schedule.h"
#include "train/setup.h"

namespace sadam::reproduce {
namespace {

// "mine.toml:14, small/wide: ", or "mine.toml, small/wide: " where no line sets the field (such as
// "data.name"; "" where there is no single one); "" where the command line sets it, or the run of a grid.
std::string place_of(const Plan& plan, const PlannedRun& run, const std::string& field) {
  const auto where = run.source->where(field);
  const bool is_grid = plan.table.columns[run.column].key.empty();
  if (where.starts_with("--") || (is_grid && where.empty()))
    return is_grid && field != "data.name" ? fmt::format("{}: ", run.cell(plan.table)) : "";
  return fmt::format("{}, {}: ", where.empty() ? plan.table.origin : where, run.cell(plan.table));
}

// Puts the place of a field before what `check` says of its value.
template <class Check>
void check_field(const Plan& plan, const PlannedRun& run, const char* field, const Check& check) {
  try {
    check();
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}{}", place_of(plan, run, field), error.what()));
  } catch (const Error& error) {
    throw Error(fmt::format("{}{}", place_of(plan, run, field), error.what()));
  }
}

// How many images a folder has is not known without reading it.
void check_images(const Plan& plan, const PlannedRun& run) {
  const auto& data = run.recipe.data;
  if (data::path_in_name(data.name)) return;
  const auto& set = data::known_set(data.name);
  const auto check = [&](const std::string& field, const char* part, std::int64_t wanted, std::size_t there) {
    if (static_cast<std::size_t>(wanted) > there)
      throw UsageError(fmt::format("{}{} is {}, and {} has {} {} images: ask for fewer, or 0 for all.",
                                   place_of(plan, run, field), field, wanted, data.name, there, part));
  };
  check("data.train_images", "training", data.train_images, set.train_images);
  check("data.validation_images", "training", data.validation_images + data.train_images, set.train_images);
  check("data.test_images", "test", data.test_images, set.test_images);
}

using KnownNetworks = std::set<std::pair<nn::Model, std::int64_t>>;

std::int64_t pixels_of(const train::Recipe& recipe) {
  if (recipe.data.pixels > 0) return recipe.data.pixels;
  return static_cast<std::int64_t>(data::pixels_of(recipe.data.name));
}

// Of a folder, that is not known either.
void check_last_batch(const train::Recipe& recipe) {
  if (data::path_in_name(recipe.data.name)) return;
  const auto all = static_cast<std::int64_t>(data::known_set(recipe.data.name).train_images);
  train::check_batches(
      recipe, recipe.data.train_images > 0 ? recipe.data.train_images : all - recipe.data.validation_images,
      pixels_of(recipe));
}

// Whether there is such a network for images of this size: nothing else of a recipe makes a difference.
// `known`: those for which there is, since making the network of a large one takes a while.
void check_network(const train::Recipe& recipe, KnownNetworks& known) {
  nn::ClassifierOptions options;
  options.model = train::model_of(recipe);
  options.pixels = pixels_of(recipe);
  options.classes = 1;
  if (known.contains({options.model, options.pixels})) return;
  nn::make_classifier(options);
  known.insert({options.model, options.pixels});
}

// Of a row that is itself a control, of a run that the plan does not make. Once begun it needs that run no
// more.
void check_control(const Plan& plan, const PlannedRun& run) {
  const auto& wanted = run.recipe.control.run;
  if (wanted.empty() || is_begun(run)) return;
  if (std::ranges::count(plan.runs, std::filesystem::path(wanted), &PlannedRun::folder) > 0) return;
  auto recipe = run.recipe;
  train::settle_control(recipe);
}

// The run that a replayed control takes its brakes from has another seed.
void check_replayed(const PlannedRun& run) {
  if (run.control == Control::replayed &&
      std::filesystem::path(run.recipe.control.run).filename() == run.folder.filename())
    throw UsageError(
        "--controls replayed: it takes the brakes of another seed, and there is one: name two or more "
        "(--seeds).");
}

void check_cell(const Plan& plan, const PlannedRun& run, KnownNetworks& known_networks) {
  const auto& recipe = run.recipe;
  check_field(plan, run, "train.device", [&] { train::device_named(recipe.train.device); });
  check_field(plan, run, "data.name", [&] { data::pixels_of(recipe.data.name); });
  check_images(plan, run);
  check_field(plan, run, recipe.data.pixels > 0 ? "data.pixels" : "",
              [&] { check_network(recipe, known_networks); });
  check_field(plan, run, "train.batch", [&] { check_last_batch(recipe); });
  check_field(plan, run, "control.run", [&] { check_control(plan, run); });
}

void look_for_data(const train::DataRecipe& recipe) {
  if (const auto path = data::path_in_name(recipe.name)) {
    // Reading a folder of a million images takes its time; one that is not there says so at once.
    std::error_code unreadable;
    if (!std::filesystem::is_directory(*path, unreadable)) data::list_class_folders(*path);
    return;
  }
  const auto& set = data::known_set(recipe.name);
  if (set.source) data::known_folder(set, recipe.root);
}

struct Lack {
  const PlannedRun* run;
  std::string field;  // that names what is missing
  std::string sentence;
};

// What is missing, and how to get it; nothing if all is there.
std::optional<Lack> lack_of(const PlannedRun& run) {
  std::string field = "model.weights";
  try {
    if (!run.recipe.model.weights.empty()) train::weights_file(run.recipe);
    field = "data.name";
    look_for_data(run.recipe.data);
  } catch (const Error& error) {
    return Lack{&run, field, error.what()};
  }
  return std::nullopt;
}

// The options that make recipes the same.
std::string options_for(const std::vector<train::Difference>& differences) {
  std::string options;
  for (const auto& [field, first, second] : differences)
    options += fmt::format("{}--set {}={}", options.empty() ? "" : " ", field, first);
  return options;
}

}  // namespace

void check_runs(const Plan& plan) {
  // Seeds and controls of a cell have its data, network and device.
  std::set<std::pair<std::size_t, std::size_t>> checked;
  KnownNetworks known_networks;
  for (const auto& run : plan.runs) {
    check_replayed(run);
    if (run.control == Control::none && checked.emplace(run.column, run.row).second)
      check_cell(plan, run, known_networks);
  }
}

std::map<std::size_t, std::string> missing_columns(const Plan& plan,
                                                   const std::vector<const PlannedRun*>& runs) {
  std::map<std::size_t, Lack> lacks;
  std::set<std::size_t> some_can_run;
  for (const auto* run : runs) {
    if (auto lack = lack_of(*run))
      lacks.try_emplace(run->column, std::move(*lack));
    else
      some_can_run.insert(run->column);
  }
  std::map<std::size_t, std::string> columns;
  for (const auto& [column, lack] : lacks) {
    if (some_can_run.contains(column))
      throw Error(fmt::format("{}{}", place_of(plan, *lack.run, lack.field), lack.sentence));
    columns[column] = lack.sentence;
  }
  return columns;
}

bool is_begun(const PlannedRun& run) { return std::filesystem::exists(train::RunPaths{run.folder}.recipe()); }

void check_same_recipe(const PlannedRun& run, Purpose purpose) {
  auto there = train::recipe_of(train::RunPaths{run.folder});
  // What does not decide anything here.
  there.train.threads = run.recipe.train.threads;
  there.control.brake = run.recipe.control.brake;
  const auto of = std::filesystem::path(there.control.run).filename();
  const auto wanted = std::filesystem::path(run.recipe.control.run).filename();
  if (run.control == Control::replayed && of != wanted && purpose == Purpose::train)
    throw UsageError(fmt::format(
        "{} has the brakes of {}, and with these seeds it would have those of {}: choose another --root, or "
        "remove it.",
        run.folder.string(), of.string(), wanted.string()));
  there.control.run = run.recipe.control.run;
  const auto differences = train::differences(there, run.recipe);
  if (differences.empty()) return;
  const auto& first = differences.front();
  const auto way_out =
      purpose == Purpose::show
          ? fmt::format("repeat the options that it was made with ({}), or choose another --root.",
                        options_for(differences))
          : fmt::format("choose another {}, or remove it.", purpose == Purpose::sweep ? "--name" : "--root");
  throw UsageError(fmt::format("{} was made with {} = {}, and now {} is asked for: {}", run.folder.string(),
                               first.field, first.first, first.second, way_out));
}

void check_same_recipes(const Plan& plan, Purpose purpose) {
  const bool is_grid = plan.table.columns.front().key.empty();
  for (const auto& run : plan.runs)
    if (is_begun(run)) check_same_recipe(run, is_grid ? Purpose::sweep : purpose);
}

}  // namespace sadam::reproduce
