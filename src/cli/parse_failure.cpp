#include "cli/parse_failure.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace sadam::cli {
namespace {

using Chain = std::vector<const CLI::App*>;

// The program, the subcommand that was given, and what was given to that: sadam, data, fetch.
Chain chain_of(const CLI::App& app) {
  Chain chain = {&app};
  while (!chain.back()->get_subcommands().empty()) chain.push_back(chain.back()->get_subcommands().back());
  return chain;
}

std::string name_of(const Chain& chain) {
  std::string name;
  for (const auto* app : chain) name += (name.empty() ? "" : " ") + app->get_name();
  return name;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string did_you_mean(const std::string& given, const std::vector<std::string>& valid) {
  const auto meant = base::nearest(given, valid);
  return meant.empty() ? "" : "; did you mean '" + meant + "'?";
}

// Of what `app` was given and has no place for.
std::string about_extra(const CLI::App& app, const std::string& name, std::string given) {
  if (!given.starts_with('-')) {
    const auto commands = subcommands_of(app);
    if (commands.empty()) return "'" + name + "' takes no " + base::in_quotes(given);
    return "'" + name + "' has no command " + base::in_quotes(given) + base::suggestion(given, commands);
  }
  given.resize(std::min(given.size(), given.find('=')));
  return "'" + name + "' has no option " + base::in_quotes(given) + did_you_mean(given, options_of(app));
}

bool asks_for_help(const CLI::Error& error) {
  return dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr;
}

// Words that no command took are what is wrong, and remain so where help is asked for beside them.
bool is_about_extras(const CLI::Error& error) {
  return dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || asks_for_help(error);
}

std::string about(const Chain& chain, const CLI::Error& error) {
  const auto& app = *chain.back();
  const auto extras = app.remaining();
  const bool command_missing = app.get_require_subcommand_min() > 0 && app.get_subcommands().empty();
  if (command_missing || is_about_extras(error)) {
    if (!extras.empty()) return about_extra(app, name_of(chain), extras.front());
    if (command_missing) {
      const auto commands = subcommands_of(app);
      std::string list;
      for (const auto& command : commands) list += (list.empty() ? "" : ", ") + command;
      return "'" + name_of(chain) + "' needs a command: " + list;
    }
  }
  const std::string message = error.what();
  return message.substr(0, message.find('\n'));
}

}  // namespace

std::string parse_failure(const CLI::App& app, const CLI::Error& error) {
  auto chain = chain_of(app);
  // The command that has something left over need not be the last.
  while (is_about_extras(error) && chain.size() > 1 && chain.back()->remaining().empty()) chain.pop_back();
  const auto sentence = about(chain, error);
  return sentence + (sentence.ends_with('?') ? " See '" : "; see '") + name_of(chain) + " --help'.";
}

bool is_help_on_unknown_command(const CLI::App& app, const CLI::Error& error) {
  if (!asks_for_help(error)) return false;
  const auto chain = chain_of(app);
  return std::any_of(chain.begin(), chain.end(), [](const CLI::App* each) {
    return !subcommands_of(*each).empty() && !each->remaining().empty();
  });
}

}  // namespace sadam::cli
