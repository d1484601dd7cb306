#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/usage_error.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/recipe_options.h"
#include "cli/stop_signal.h"
#include "train/trainer.h"
#include "train/use_run.h"

namespace sadam::cli {
namespace {

constexpr const char* kEvalHelp =
    "Evaluates the last checkpoint of a run, or a weight file, on a test set.\n\n"
    "  sadam eval runs/first\n"
    "  sadam eval --weights resnet18.safetensors --set model.name=resnet18 --set data.name=imagewoof --set "
    "data.pixels=224";

struct EvalArguments {
  std::string run;
  std::string weights;
  RecipeOptions recipe;
  bool json = false;
};

void evaluate_now(const EvalArguments& arguments) {
  if (arguments.run.empty() == arguments.weights.empty())
    throw UsageError("eval needs the folder of a run, or --weights with a file.");
  const StopSignal stop;
  const train::RunPaths paths{arguments.run};
  train::RecipeSource source;
  if (!arguments.run.empty()) source.add_text(to_toml(train::recipe_of(paths)), arguments.run);
  for (const auto& assignment : arguments.recipe.sets) source.set(assignment);
  auto recipe = source.resolve();
  if (!arguments.weights.empty()) recipe.model.weights = arguments.weights;
  const auto evaluation = train::evaluate_run(paths, recipe, &StopSignal::flag());
  if (!evaluation) throw Interrupted();
  const auto& result = *evaluation;
  if (arguments.json) {
    std::cout << nlohmann::json{{"accuracy", result.accuracy},
                                {"loss", result.loss},
                                {"images", result.images}}
              << '\n';
  } else {
    std::cout << fmt::format("accuracy {:.2f} %, loss {:.4f}, on {} images of {}\n", 100 * result.accuracy,
                             result.loss, result.images, recipe.data.name);
  }
}

}  // namespace

void add_eval(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  auto& command = add_command(app, "eval", kEvalHelp);
  command.add_option("run", arguments->run, "Folder of a run");
  command.add_option("--weights", arguments->weights, "A safetensors or .pth file instead of a run");
  arguments->recipe.add_sets_to(command);
  command.add_flag("--json", arguments->json, "For other programs");
  command.callback([arguments] { evaluate_now(*arguments); });
}

}  // namespace sadam::cli
