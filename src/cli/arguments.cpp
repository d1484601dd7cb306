#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "data/data_set.h"
#include "report/recipe_values.h"
#include "train/setup.h"
#include "train/trained_run.h"

namespace sadam::cli {

std::string RecipeOptions::read() const { return file.empty() ? "" : base::read_text(file); }

std::optional<RankOptions> launched_rank() {
  auto options = RankOptions::from_environment();
  if (options && options->size() == 1) options.reset();
  return options;
}

void check_not_launched(const std::string& what) {
  if (const auto launched = launched_rank())
    throw UsageError(
        fmt::format("{} starts its processes by itself, and this is one of {} that a launcher started: start "
                    "it once, with --processes {}.",
                    what, launched->size(), launched->size()));
}

std::optional<std::filesystem::path> folder_of_runs(const std::string& name,
                                                    const std::filesystem::path& root) {
  if (name.empty() || train::find_run_if(name, root)) return std::nullopt;
  for (const auto& folder : {std::filesystem::path(name), root / name}) {
    std::error_code unreadable;
    if (std::filesystem::is_directory(folder, unreadable) && !train::find_runs(folder).empty()) return folder;
  }
  return std::nullopt;
}

void JobOptions::add_to(CLI::App& command) {
  constexpr std::int64_t kMost = 256;
  command.add_option("-j,--jobs", jobs, "Trains so many runs at once, each in a process of its own")
      ->check(CLI::Range(std::int64_t{1}, kMost))
      ->type_name("COUNT");
  command.add_option("--worker", worker.plan)->group("");
  command.add_option("--worker-threads", worker.threads)->group("");
}

namespace {

train::Recipe recipe_on(const train::Recipe& under, const std::string& origin, const RecipeOptions& options) {
  train::RecipeSource source;
  source.add_text(to_toml(under), origin);
  return options.resolve(std::move(source));
}

// A file does not hide the run of its name, as little as it does elsewhere.
train::RunPaths run_to_evaluate(const RunArgument& run) {
  if (auto found = train::find_run_if(run.name, run.root)) return *found;
  if (std::filesystem::is_regular_file(run.name) && !train::run_with_file(run.name))
    throw UsageError(
        fmt::format("{} is a file and no run: give it with --weights.", base::in_quotes(run.name)));
  return run.find();  // which says what is wrong
}

// Where and how the run computed is of no concern: only its model and its data go with the weights.
train::Recipe recipe_of_weights(const ModelArgument& arguments) {
  if (const auto run = train::run_with_file(arguments.weights))
    throw UsageError(fmt::format("--weights {} is a file of a run: evaluate that with 'sadam eval {}'.",
                                 base::in_quotes(arguments.weights), run->folder.string()));
  auto recipe = arguments.recipe.resolve();
  recipe.model.weights = arguments.weights;
  const auto file = train::weights_file(recipe).string();
  recipe.model.weights = file;
  if (arguments.ignore_recipe) return recipe;
  const auto stored = train::exported_recipe(file);
  if (!stored) return recipe;
  std::cerr << fmt::format(
      "Model and data are those of the recipe in {} ({} on {}), but for what --set changes.\n",
      base::printable(file), report::short_model(*stored), stored->data.name);
  train::Recipe defaults;
  defaults.model = stored->model;
  defaults.data = stored->data;
  recipe = recipe_on(defaults, file, arguments.recipe);
  recipe.model.weights = file;  // as it was found, whatever data.root is now
  return recipe;
}

}  // namespace

void ModelArgument::add_to(CLI::App& command) {
  run.add_to(command, "run", "Folder or name of a run");
  not_empty(command.add_option("--weights", weights, "A safetensors or .pth file instead of a run"),
            "name the file, or leave it out and give a run");
  command.add_flag("--ignore-recipe", ignore_recipe, "Ignores the recipe in the weight file")
      ->needs("--weights");
  command.add_flag("--best", best, "The checkpoint of the best epoch instead of the last")
      ->excludes("--weights");
  recipe.add_sets_to(command, "data.name=cifar10");
  run.add_root_to(command);
}

ModelArgument::Found ModelArgument::find(const std::string& command) const {
  const bool has_run = !run.name.empty();
  if (has_run && !weights.empty())
    throw UsageError(fmt::format("{} takes a run or --weights, not both: leave one out.", command));
  if (!has_run && weights.empty())
    throw UsageError(fmt::format("{} needs a run, or --weights with a file.", command));
  if (!has_run) {
    auto found = recipe_of_weights(*this);
    if (found.data.pixels == 0)
      found.data.pixels = static_cast<std::int64_t>(data::own_pixels(found.data.name));
    return {{}, std::move(found)};
  }
  const auto paths = run_to_evaluate(run);
  const auto trained = train::recipe_of(paths);
  auto changed = recipe_on(trained, paths.recipe().string(), recipe);
  // Images of other data have the size that the network was trained with.
  if (changed.data.pixels == 0 && changed.data.name != trained.data.name)
    changed.data.pixels = static_cast<std::int64_t>(data::pixels_of(trained.data.name));
  return {paths, std::move(changed)};
}

double number_from(const std::string& text, std::string_view option, std::string_view example) {
  double value = 0;
  const auto* const end = text.data() + text.size();
  const auto* begin = std::find_if(text.data(), end, [](char letter) { return letter != ' '; });
  if (begin != end && *begin == '+') ++begin;
  const auto [stopped, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stopped != end || !std::isfinite(value))
    throw UsageError(fmt::format("{} takes numbers separated by commas, such as {}, and not {}.", option,
                                 example, base::in_quotes(text)));
  return value;
}

void check_root(const std::filesystem::path& root) {
  std::error_code trouble;
  const auto kind = std::filesystem::status(root, trouble).type();
  if (kind != std::filesystem::file_type::directory && kind != std::filesystem::file_type::not_found)
    throw Error(fmt::format("{} is not a folder that can be read: correct --root.", root.string()));
}

void check_run_name(const std::string& name) {
  const auto refuse = [&](std::string_view why) {
    throw UsageError(fmt::format("--name {} {}", base::in_quotes(name), why));
  };
  if (base::printable(name) != name) refuse("has a control character in it; take it out.");
  if (name.find('/') != std::string::npos)
    refuse("has a slash in it; say with --root in which folder the run goes.");
  if (name.empty() || name.front() == '.' || name.front() == '-')
    refuse("does not begin with a letter or a digit; choose a plain name, such as first.");
}

}  // namespace sadam::cli
