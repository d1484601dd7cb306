// sadam: trains, reproduces, compares.
#include <sadam/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "base/allocation.h"
#include "base/usage_error.h"
#include "cli/commands.h"
#include "cli/parse_failure.h"

namespace {

constexpr const char* kIntroduction =
    "S-Adam: AdamW with a brake. Trains networks with it, redoes the experiments of its paper with controls, "
    "and\n"
    "compares the runs.\n\n"
    "  sadam reproduce table1 --quick        a small version of the paper's first table, on built-in data\n"
    "  sadam data fetch cifar100             the real data\n"
    "  sadam reproduce table1 --only cifar100\n"
    "  sadam train --set data.name=cifar100 --set optimizer.probes=8 --name first\n"
    "  sadam runs                            what has been run\n\n"
    "'sadam COMMAND --help' says more about each.";

// One sentence: libtorch appends pages.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int fail(const std::string& sentence, int status) {
  std::cerr << "sadam: " << sentence << '\n';
  return status;
}

// What was printed may have been lost only now: a full disk shows when the last bytes are handed over.
int finish_output() {
  std::cout.flush();
  return std::cout ? 0 : fail("cannot write to standard output: is the disk full?", 1);
}

// CLI11 takes them in reverse order. "help train" is what some programs call "train --help".
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  sadam::base::keep_freed_memory();
  using namespace sadam::cli;
  CLI::App app(kIntroduction, "sadam");
  app.set_version_flag("--version", SADAM_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return "sadam: " + parse_failure(*failed, error) + "\n";
  });
  for (auto* const add :
       {add_train, add_eval, add_export, add_reproduce, add_data, add_runs, add_compare, add_info})
    add(app);
  try {
    app.parse(words_of(argc, argv));
    return finish_output();
  } catch (const CLI::ParseError& error) {
    if (is_help_on_unknown_command(app, error)) return fail(parse_failure(app, error), 2);
    return app.exit(error) == 0 ? finish_output() : 2;  // help is an "error" with status 0
  } catch (const Interrupted&) {
    return 130;
  } catch (const sadam::UsageError& error) {
    return fail(error.what(), 2);
  } catch (const sadam::Error& error) {
    return fail(error.what(), 1);
  } catch (const std::bad_alloc&) {
    return fail("out of memory: use a smaller batch (--set train.batch=...) or smaller data.", 1);
  } catch (const std::exception& error) {
    return fail(first_line(error.what()), 1);
  }
}
