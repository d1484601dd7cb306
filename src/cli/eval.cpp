#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "report/recipe_values.h"
#include "train/setup.h"
#include "train/trained_run.h"
#include "train/trainer.h"

namespace sadam::cli {
namespace {

constexpr const char* kEvalHelp = R"(Evaluates the last checkpoint of a run, or a weight file, on a test set.

  sadam eval first
      a run, by its name below --root or by its folder
  sadam eval --weights first.safetensors
      a file that 'sadam export' wrote
  sadam eval --weights resnet18.safetensors --set model.name=resnet18 \
      --set data.name=imagewoof --set data.pixels=224

A file that 'sadam export' wrote holds the recipe of its run: model and data
are those of the recipe. For other files they are the defaults. --set changes
either.)";

struct EvalArguments {
  RunArgument run;
  std::string weights;
  RecipeOptions recipe;
  bool ignore_recipe = false;
  bool json = false;
};

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

void check_is_no_part_of_a_run(const std::string& weights) {
  if (const auto run = train::run_with_file(weights))
    throw UsageError(fmt::format("--weights {} is a file of a run: evaluate that with 'sadam eval {}'.",
                                 base::in_quotes(weights), run->folder.string()));
}

// Where and how the run computed is of no concern: only its model and its data go with the weights.
train::Recipe recipe_of_weights(const EvalArguments& arguments) {
  check_is_no_part_of_a_run(arguments.weights);
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

void evaluate_now(const EvalArguments& arguments) {
  const bool has_run = !arguments.run.name.empty();
  if (has_run && !arguments.weights.empty())
    throw UsageError("eval takes a run or --weights, not both: leave one out.");
  if (!has_run && arguments.weights.empty()) throw UsageError("eval needs a run, or --weights with a file.");
  const StopSignal stop;
  const auto paths = has_run ? run_to_evaluate(arguments.run) : train::RunPaths{};
  const auto recipe = has_run ? recipe_on(train::recipe_of(paths), paths.recipe().string(), arguments.recipe)
                              : recipe_of_weights(arguments);
  const auto evaluation = train::evaluate_run(paths, recipe, &StopSignal::flag());
  if (!evaluation) throw Interrupted();
  const auto& result = *evaluation;
  if (arguments.json) {
    nlohmann::json json = {
        {"accuracy", base::percent(result.accuracy)}, {"loss", result.loss}, {"images", result.images}};
    if (has_run) json.update({{"step", result.step}, {"epoch", result.epoch}});
    std::cout << json << '\n';
    return;
  }
  std::cout << fmt::format("accuracy {:.2f} %, loss {}, on {} images of {}", 100 * result.accuracy,
                           base::decimal(result.loss, 4), result.images, recipe.data.name);
  if (has_run)
    std::cout << fmt::format(", after step {} (epoch {} of {} done)", result.step, result.epoch,
                             recipe.train.epochs);
  std::cout << '\n';
}

}  // namespace

void add_eval(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  auto& command = add_command(app, "eval", kEvalHelp);
  arguments->run.add_to(command, "run", "Folder or name of a run");
  not_empty(
      command.add_option("--weights", arguments->weights, "A safetensors or .pth file instead of a run"),
      "name the file, or leave it out and give a run");
  command.add_flag("--ignore-recipe", arguments->ignore_recipe, "Ignores the recipe in the weight file")
      ->needs("--weights");
  arguments->recipe.add_sets_to(command, "data.name=cifar10");
  arguments->run.add_root_to(command);
  command.add_flag("--json", arguments->json, "Prints JSON for other programs; accuracy in per cent");
  command.callback([arguments] { evaluate_now(*arguments); });
}

}  // namespace sadam::cli
