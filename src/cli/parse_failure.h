// What is wrong with a command line that could not be parsed.
#pragma once

#include <string>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace sadam::cli {

/// One sentence: what was not understood, the nearest name that would have been, and the command whose --help
/// says more.
std::string parse_failure(const CLI::App& app, const CLI::Error& error);

/// Whether help was asked for beside a command that does not exist, as in "sadam evaluate --help": the help
/// of something else would be no answer.
bool is_help_on_unknown_command(const CLI::App& app, const CLI::Error& error);

}  // namespace sadam::cli
