// Where a run computes, on a command line: shorthand for fields of the recipe.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sadam::cli {

/// Adds --device and --deterministic, which end up among the `--set` assignments.
inline void add_device_options(CLI::App& command, std::vector<std::string>& sets) {
  command
      .add_option_function<std::string>(
          "--device", [&sets](const std::string& name) { sets.push_back("train.device=" + name); },
          "Where to compute: cpu, cuda or cuda:N; short for --set train.device=...")
      ->type_name("DEVICE");
  command.add_flag_callback(
      "--deterministic", [&sets] { sets.emplace_back("train.deterministic=true"); },
      "On a GPU: the same bits on every run, at some cost in speed");
}

}  // namespace sadam::cli
