// Names and paths on a command line, which must not be empty.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace sadam::cli {

/// An empty name is a shell variable that was not set, and not a wish for the default. `way_out` says what to
/// do instead.
inline CLI::Option* not_empty(CLI::Option* option, const std::string& way_out) {
  return option->check([way_out](const std::string& text) {
    return text.empty() ? "must not be empty; " + way_out : std::string();
  });
}

/// --root, the same in every command; `root` is a string or a path that holds the default.
template <typename Path>
CLI::Option* add_root_option(CLI::App& command, Path& root, const std::string& help) {
  auto* const option = command.add_option("--root", root, help)->capture_default_str()->type_name("FOLDER");
  return not_empty(option,
                   "name a folder, or leave it out for '" + std::filesystem::path(root).string() + "'");
}

}  // namespace sadam::cli
