// How a subcommand is registered.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sadam::cli {

/// The first paragraph of `help` is what `sadam --help` says of it; the rest stands below its options.
inline CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& help) {
  const auto end = help.find("\n\n");
  auto& command = *app.add_subcommand(name, help.substr(0, end));
  if (end != std::string::npos) command.footer(help.substr(end + 1));
  return command;
}

}  // namespace sadam::cli
