// The subcommands of `sadam`, one file each, and what they share. A subcommand registers its options and a
// callback; what it throws is printed by main: a UsageError ends the program with status 2, anything else
// with 1.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>

#include "base/terminal.h"

namespace sadam::cli {

void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_export(CLI::App& app);
void add_reproduce(CLI::App& app);
void add_data(CLI::App& app);
void add_runs(CLI::App& app);
void add_compare(CLI::App& app);
void add_report(CLI::App& app);
void add_serve(CLI::App& app);
void add_probe(CLI::App& app);
void add_theory(CLI::App& app);
void add_audit(CLI::App& app);
void add_info(CLI::App& app);
void add_landscape(CLI::App& app);

/// The program, with the arguments of `main`; its exit status.
int run(int argc, char** argv);

/// The help of every command in both widths, as the C++ that main.cpp includes.
void write_help_texts(std::ostream& out);

/// Adds a subcommand. The first paragraph of `help` is what the help of `app` says of it; the rest stands
/// below its options. No line of it is wider than 80 columns; lines that are not indented are a paragraph.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& help);

/// A subcommand with the fields that its options fill.
template <class Arguments>
struct Command {
  CLI::App& app;
  Arguments& arguments;  ///< live as long as the app
};

/// The same, and calls `run` with what was given.
template <class Arguments, class Run>
Command<Arguments> add_command(CLI::App& app, const std::string& name, const std::string& help,
                               const Run& run) {
  auto& command = add_command(app, name, help);
  const auto arguments = std::make_shared<Arguments>();
  command.callback([arguments, run] { run(*arguments); });
  return {command, *arguments};
}

/// Lays options, subcommands and text out within so many columns.
std::shared_ptr<CLI::FormatterBase> help_layout(std::size_t width);

/// An empty name is a shell variable that was not set, and not a wish for the default. `way_out` says what to
/// do instead.
CLI::Option* not_empty(CLI::Option* option, const std::string& way_out);

/// --root, the same in every command; `root` is a string or a path that holds the default.
template <typename Path>
CLI::Option* add_root_option(CLI::App& command, Path& root, const std::string& help) {
  auto* const option = command.add_option("--root", root, help)->capture_default_str()->type_name("FOLDER");
  return not_empty(
      option, fmt::format("name a folder, or leave it out for '{}'", std::filesystem::path(root).string()));
}

/// The file that `option` names, for what long work will write; empty for no name. Throws an Error now, and
/// not after minutes of work, if it cannot be written there.
std::filesystem::path output_target(const std::string& name, const char* option);

/// --csv and --json: for other programs instead of for people.
struct Format {
  bool csv = false;
  bool json = false;

  void add_to(CLI::App& command, const std::string& csv_help, const std::string& json_help) {
    command.add_flag("--csv", csv, csv_help);
    command.add_flag("--json", json, json_help)->excludes("--csv");
  }
  bool is_for_programs() const { return csv || json; }
  /// Of a table or a comparison of runs.
  template <class Results>
  std::string text_of(const Results& results) const {
    return json ? to_json(results) : to_csv(results);
  }
};

/// The columns of the terminal behind the standard output; 0, for no limit, where it goes elsewhere.
std::size_t output_width();

/// A file to write; `file` is a string or a path, which may be optional.
template <typename File>
void add_output_option(CLI::App& command, const std::string& option, File& file, const std::string& help,
                       const std::string& way_out = "name a file, or leave it out") {
  not_empty(command.add_option(option, file, help)->type_name("FILE"), way_out);
}

/// --seed of long work in the lab.
void add_seed_option(CLI::App& command, std::uint64_t& seed);

/// The line that says what is being worked on; on a terminal only, and gone when it is done.
class WorkLine {
 public:
  WorkLine() : live_(base::is_live(stderr)) {}
  ~WorkLine() { clear(); }
  WorkLine(const WorkLine&) = delete;
  WorkLine& operator=(const WorkLine&) = delete;

  void say(const std::string& what) const;
  void clear() const;

 private:
  bool live_;
};

/// Ctrl-C as a flag that long work looks at. While it lives, SIGINT, SIGTERM and SIGHUP set `flag()` and
/// nothing else; a second SIGINT or SIGTERM ends the program at once. (A terminal that closes may send SIGHUP
/// twice, and what is saved then must be whole.) Where SIGHUP is ignored, as under nohup, it stays so. Under
/// a launcher nothing ends it at once: that one passes on what a terminal has sent already.
class StopSignal {
 public:
  explicit StopSignal(bool is_launched = false);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static const std::atomic<bool>& flag();

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace sadam::cli
