#include <fmt/format.h>
#include <hwy/highway.h>
#include <sadam/version.h>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "base/usage_error.h"
#include "cli/command.h"
#include "report/text_table.h"
#include "train/device.h"
#include "train/recipe/source.h"
#include "train/setup.h"

namespace sadam::cli {
namespace {

constexpr const char* kInfoHelp = R"(Says what this program is made of, or what a recipe can say.

  sadam info
      versions, instruction set, GPUs, cores
  sadam info recipe
      every field of a recipe: its type, its default, its meaning)";

void print_recipe_fields() {
  report::TextTable table;
  table.columns = {{"field", "field"}, {"type", "type"}, {"default", "default"}, {"meaning", "meaning"}};
  for (const auto& field : train::recipe_fields())
    table.add({field.name, field.type, field.standard, field.meaning});
  std::cout << to_text(table, output_width());
}

void print_program() {
  std::cout << "sadam " << SADAM_VERSION << '\n';
  std::cout << "libtorch " << train::libtorch_version() << '\n';
  std::cout << "instructions " << hwy::TargetName(hwy::SupportedAndGeneratedTargets().front()) << '\n';
  for (const auto& line : train::gpu_lines()) std::cout << "GPU " << line << '\n';
  std::cout << "cores " << std::thread::hardware_concurrency() << '\n';
}

struct InfoArguments {
  std::string topic = "program";
};

void inform(const InfoArguments& arguments) {
  const auto& topic = arguments.topic;
  if (topic == "recipe") return print_recipe_fields();
  if (topic == "program") return print_program();
  const std::vector<std::string> topics = {"program", "recipe"};
  throw UsageError(
      fmt::format("there is no topic {}{}", base::in_quotes(topic), base::suggestion(topic, topics)));
}

}  // namespace

void add_info(CLI::App& app) {
  const auto [command, arguments] = add_command<InfoArguments>(app, "info", kInfoHelp, inform);
  command.add_option("topic", arguments.topic, "program or recipe");
}

}  // namespace sadam::cli
