#include <fmt/format.h>
#include <sadam/error.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "report/text_table.h"
#include "train/trained_run.h"

namespace sadam::cli {
namespace {

constexpr const char* kEvalHelp = R"(Evaluates the last checkpoint of a run, or a weight file, on a test set.

  sadam eval first
      a run, by its name below --root or by its folder
  sadam eval first --best
      its checkpoint of the best epoch
  sadam eval --weights first.safetensors
      a file that 'sadam export' wrote
  sadam eval --weights resnet18.safetensors --set model.name=resnet18 \
      --set data.name=imagewoof --set data.pixels=224

A file that 'sadam export' wrote holds the recipe of its run: model and data
are those of the recipe. For other files they are the defaults. --set changes
either.)";

struct EvalArguments {
  ModelArgument model;
  bool per_class = false;
  bool json = false;
};

double accuracy_of(const train::Evaluation::OfClass& of_class) {
  return static_cast<double>(of_class.right) / static_cast<double>(of_class.images);
}

report::Cell name_of_class(const train::RunEvaluation& result, std::size_t i) {
  if (i < result.class_names.size()) return result.class_names[i];
  return report::Cell::count(static_cast<std::int64_t>(i));
}

// Classes without a test image are left out.
report::TextTable table_of_classes(const train::RunEvaluation& result) {
  report::TextTable table{{{"class", "class"},
                           {"images", "images", report::Align::right},
                           {"accuracy", "accuracy %", report::Align::right}},
                          {}};
  for (std::size_t i = 0; i < result.classes.size(); ++i)
    if (const auto& each = result.classes[i]; each.images > 0)
      table.add({name_of_class(result, i), report::Cell::count(each.images),
                 report::Cell::number(base::percent(accuracy_of(each)), 2)});
  return table;
}

void evaluate_now(const EvalArguments& arguments) {
  const StopSignal stop;
  const auto [paths, recipe] = arguments.model.find("eval");
  const bool has_run = !paths.folder.empty();
  const auto evaluation = train::evaluate_run(paths, recipe, &StopSignal::flag(),
                                              {.best = arguments.model.best, .said = &std::cerr});
  if (!evaluation) throw Interrupted();
  const auto& result = *evaluation;
  if (!std::isfinite(result.loss))
    throw Error(fmt::format(
        "the loss on {} images of {} is not finite, so the accuracy means nothing: the weights have diverged "
        "or are damaged.",
        result.images, recipe.data.name));
  if (arguments.json) {
    nlohmann::json json = {
        {"accuracy", base::percent(result.accuracy)}, {"loss", result.loss}, {"images", result.images}};
    if (result.top5_accuracy) json["top5_accuracy"] = base::percent(*result.top5_accuracy);
    if (has_run) json.update({{"step", result.step}, {"epoch", result.epoch}});
    if (arguments.per_class) json["classes"] = nlohmann::json::parse(to_json(table_of_classes(result)));
    std::cout << json << '\n';
    return;
  }
  std::cout << fmt::format("accuracy {:.2f} %", 100 * result.accuracy);
  if (result.top5_accuracy) std::cout << fmt::format(", top-5 {:.2f} %", 100 * *result.top5_accuracy);
  std::cout << fmt::format(", loss {}, on {} images of {}", base::decimal(result.loss, 4), result.images,
                           recipe.data.name);
  if (has_run)
    std::cout << fmt::format(", after step {} (epoch {} of {} done)", result.step, result.epoch,
                             recipe.train.epochs);
  std::cout << '\n';
  if (arguments.per_class) std::cout << '\n' << to_text(table_of_classes(result), output_width());
}

}  // namespace

void add_eval(CLI::App& app) {
  const auto [command, arguments] = add_command<EvalArguments>(app, "eval", kEvalHelp, evaluate_now);
  arguments.model.add_to(command);
  command.add_flag("--per-class", arguments.per_class, "Shows the accuracy of every class too");
  command.add_flag("--json", arguments.json, "Prints JSON for other programs; accuracy in per cent");
}

}  // namespace sadam::cli
