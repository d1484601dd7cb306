// Prints the tables of docs/benchmarks.md: ratios of times that were taken in turns, in this one process.
#include <ATen/Parallel.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "other_processes.h"
#include "tables.h"

namespace sadam::bench {
namespace {

constexpr const char* kUsage =
    "bench_tables [--quick] [--threads N] [--authors-step FILE] [TABLE...]\n"
    "  TABLE      update, perturb, step, qat, memory, processes, scale; all by default\n"
    "  --quick    fewer rounds, and no 100 M parameters: for a first impression\n"
    "  --threads  2 by default, which the budgets are for\n"
    "  --authors-step  the PyTorch program that qat is measured against, bench/authors_step.py by default\n";

using Table = void (*)(Report&, const Settings&);
// In the order in which they run: from the third on the process keeps freed memory.
const std::vector<std::pair<std::string, Table>> kTables = {
    {"update", update_table}, {"perturb", perturb_table},     {"step", step_table},  {"qat", qat_table},
    {"memory", memory_table}, {"processes", processes_table}, {"scale", scale_table}};

bool is_table(const std::string& name) {
  return std::any_of(kTables.begin(), kTables.end(), [&](const auto& table) { return table.first == name; });
}

void run(const std::vector<std::string>& arguments) {
  Settings settings;
  std::set<std::string> wanted;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--quick") {
      settings.quick = true;
    } else if (arguments[i] == "--threads" && i + 1 < arguments.size()) {
      settings.threads = std::stoi(arguments[++i]);
    } else if (arguments[i] == "--authors-step" && i + 1 < arguments.size()) {
      settings.authors_step = arguments[++i];
    } else if (arguments[i] == "--peak" && i + 2 < arguments.size()) {
      at::set_num_threads(settings.threads);
      return print_peak_memory(arguments[i + 1], std::stoll(arguments[i + 2]));
    } else if (arguments[i] == "--rank" && i + 4 < arguments.size()) {
      return serve_as_rank(std::stoi(arguments[i + 1]), std::stoi(arguments[i + 2]), arguments[i + 3],
                           std::stoi(arguments[i + 4]));
    } else if (arguments[i].rfind("--", 0) == 0) {
      std::cout << kUsage;
      return;
    } else if (is_table(arguments[i])) {
      wanted.insert(arguments[i]);
    } else {
      throw std::invalid_argument("there is no table '" + arguments[i] + "': see --help.");
    }
  }
  at::set_num_threads(settings.threads);
  print_machine(settings);
  Report report;
  const OtherProcesses others;
  for (const auto& [name, table] : kTables)
    if (wanted.empty() || wanted.count(name) > 0) table(report, settings);
  const double share = others.share();
  std::cout << "\n"
            << report.judged() - report.over() << " of " << report.judged()
            << " budgets met. Other processes took " << fixed(100 * share, 1) << " % of the processors' time"
            << (share > 0.05 ? ": too much for these figures to mean anything." : ".") << std::endl;
}

}  // namespace
}  // namespace sadam::bench

int main(int argc, char** argv) {
  try {
    sadam::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "bench_tables: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
