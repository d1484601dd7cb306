// The subcommands of `sadam`, one file each. A subcommand registers its options and a callback; what it
// throws is printed by main: a UsageError ends the program with status 2, anything else with 1.
#pragma once

namespace CLI {
class App;
}

namespace sadam::cli {

void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_export(CLI::App& app);
void add_reproduce(CLI::App& app);
void add_data(CLI::App& app);
void add_runs(CLI::App& app);
void add_compare(CLI::App& app);
void add_info(CLI::App& app);

/// Thrown by a subcommand that was told to stop and has saved what it had.
struct Interrupted {};

}  // namespace sadam::cli
