// Prints the GPU's tables of docs/benchmarks-gpu.md: steps of ResNet-18 and QATNet as ratios to AdamW
// captured as a graph, timed in turns in this one process, the memory that they take, and the bandwidth of
// the kernels beside a device's own copy.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <sadam/error.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/kernels_table.h"
#include "gpu/steps.h"
#include "line_process.h"
#include "report.h"
#include "turns.h"

namespace sadam::bench {
namespace {

constexpr const char* kUsage =
    "gpu_tables [--quick] [--python FILE] [TABLE...]\n"
    "  TABLE      kernels, steps, streams, memory; all but streams by default\n"
    "  --quick    fewer rounds: for a first impression\n"
    "  --python   the PyTorch program that steps are measured against, bench/gpu/torch_graph.py\n";

const std::set<std::string> kTables = {"kernels", "steps", "streams", "memory"};

struct Settings {
  int rounds = 9;
  std::string python;
  std::set<std::string> tables;
};

/// A network with how many of its steps are timed together, and the budgets of S-Adam with two probes and
/// with eight, also on a quarter of the batch, in steps of captured AdamW.
struct Task {
  std::function<Workload()> work;
  int steps = 0;
  std::optional<Budget> two;
  std::optional<Budget> eight;
  std::optional<Budget> two_on_a_quarter = {};
  std::optional<Budget> eight_on_a_quarter = {};
  std::int64_t python_batch = 0;  ///< 0: PyTorch has no such network
};

const std::vector<Task>& tasks() {
  static const std::vector<Task> all = {
      {[] { return resnet(2); }, 40, at_most(1.3), at_most(2.1), {}, {}, 2},
      {[] { return resnet(64); }, 8, at_most(1.45), at_most(2.95), at_most(1.25), at_most(1.7), 64},
      {qat_net, 100, {}, {}, {}, {}, 0},
  };
  return all;
}

double seconds_per_step(const Runner& runner, int steps) {
  return seconds_of(
             [&] {
               for (int i = 0; i < steps; ++i) runner.step();
               c10::cuda::device_synchronize();
             },
             1) /
         steps;
}

/// Steps of these rows, timed in turns with `others`.
std::map<std::string, Times> times_of(const std::vector<Row>& rows, const Workload& work, const Task& task,
                                      int rounds, Measurements others = {}) {
  std::vector<Runner> runners;
  for (const auto& row : rows) runners.push_back(warm(row, work));
  Measurements measurements;
  for (std::size_t i = 0; i < rows.size(); ++i)
    measurements.emplace_back(
        rows[i].name, [&runner = runners[i], steps = task.steps] { return seconds_per_step(runner, steps); });
  for (auto& other : others) measurements.push_back(std::move(other));
  return measure_in_turns(measurements, rounds);
}

void steps_table(Report& report, const Task& task, int rounds, LineProcess* python) {
  const auto work = task.work();
  const std::string in_python = "PyTorch AdamW, captured (Python)";
  Measurements others;
  if (python != nullptr && task.python_batch > 0)
    others.emplace_back(in_python, [&] {
      const auto question = std::to_string(task.python_batch) + " " + std::to_string(task.steps);
      return std::stod(python->ask(question).value());
    });
  const auto rows = optimizer_rows();
  const auto times = times_of(rows, work, task, rounds, others);
  const auto& graph = times.at("AdamW, captured");
  const auto& eager = times.at("torch AdamW, eager");
  report.begin(work.name, {"step", "ms", "to captured AdamW", "budget", "to eager AdamW"});
  const auto add = [&](const std::string& name, const std::optional<Budget>& budget) {
    const auto& mine = times.at(name);
    const auto to_graph = ratio(mine, graph);
    report.row({name, milliseconds(mine), with_quartiles(to_graph, 2),
                report.verdict(to_graph.median, budget), with_quartiles(ratio(mine, eager), 2)});
  };
  for (const auto& row : rows)
    add(row.name, row.name == "S-Adam k=2, captured"              ? task.two
                  : row.name == "S-Adam k=8, captured"            ? task.eight
                  : row.name == "S-Adam k=2, a quarter, captured" ? task.two_on_a_quarter
                  : row.name == "S-Adam k=8, a quarter, captured" ? task.eight_on_a_quarter
                                                                  : std::nullopt);
  if (!others.empty()) {
    add(in_python, {});
    const auto to_python = ratio(graph, times.at(in_python));
    report.row({"our captured AdamW to PyTorch's", "", with_quartiles(to_python, 2),
                report.verdict(to_python.median, at_most(1.1)), ""});
  }
  report.end();
}

void streams_table(Report& report, const Task& task, int rounds) {
  const auto work = task.work();
  const auto rows = stream_rows();
  const auto times = times_of(rows, work, task, rounds);
  report.begin("Streams: " + work.name, {"step", "ms"});
  for (const auto& row : rows) report.row({row.name, milliseconds(times.at(row.name))});
  report.end();
}

std::vector<Row> all_rows() {
  auto rows = optimizer_rows();
  for (auto& row : stream_rows()) rows.push_back(std::move(row));
  return rows;
}

/// Takes steps of one row on one network, and prints the most memory that torch had given out meanwhile.
void print_peak(std::size_t task, std::size_t row) {
  const auto work = tasks().at(task).work();
  const auto runner = warm(all_rows().at(row), work);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
  std::cout << stats.allocated_bytes[0].peak << std::endl;
}

/// Each row in a process of its own: whoever is first on a stream pays for the workspaces of libraries there.
void memory_table(Report& report) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto rows = all_rows();
  std::vector<std::string> columns = {"peak GiB"};
  std::vector<std::vector<std::string>> cells(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) cells[i].push_back(rows[i].name);
  for (std::size_t task = 0; task < tasks().size(); ++task) {
    columns.push_back(tasks()[task].work().name);
    std::vector<std::unique_ptr<FILE, int (*)(FILE*)>> outputs;
    auto read_one = [&, done = std::size_t{0}]() mutable {
      std::array<char, 64> line{};
      if (!outputs[done] || std::fgets(line.data(), line.size(), outputs[done].get()) == nullptr)
        throw Error("the process that measures " + rows[done].name + " gave no answer.");
      cells[done].push_back(fixed(std::stod(line.data()) / 0x1p30, 2));
      outputs[done++].reset();
    };
    constexpr std::size_t kAtATime = 7;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto command = "'" + program + "' --peak " + std::to_string(task) + " " + std::to_string(i);
      outputs.emplace_back(popen(command.c_str(), "r"), pclose);
      if (i + 1 >= kAtATime) read_one();
    }
    while (cells.back().size() < task + 2) read_one();
  }
  report.begin("Memory", columns);
  for (const auto& row : cells) report.row(row);
  report.end();
}

std::unique_ptr<LineProcess> started(const std::string& script) {
  if (script.empty()) return nullptr;
  auto python = std::make_unique<LineProcess>(std::vector<std::string>{"python3", script});
  if (python->ask("2 1")) return python;
  std::cout << "PyTorch's captured AdamW is left out: python3 has no torch and torchvision with CUDA.\n\n";
  return nullptr;
}

void print_tables(const Settings& settings) {
  std::cout << "GPU: " << at::cuda::getCurrentDeviceProperties()->name << ", libtorch " << TORCH_VERSION
            << ", float32 without TF32\n\n";
  Report report;
  if (settings.tables.count("kernels") > 0) kernels_table(report, 100'000'000, settings.rounds);
  if (settings.tables.count("steps") > 0) {
    const auto python = started(settings.python);
    for (const auto& task : tasks()) steps_table(report, task, settings.rounds, python.get());
  }
  if (settings.tables.count("streams") > 0)
    for (const auto& task : tasks()) streams_table(report, task, settings.rounds);
  if (settings.tables.count("memory") > 0) memory_table(report);
  if (report.judged() > 0)
    std::cout << report.judged() - report.over() << " of " << report.judged() << " budgets kept.\n";
}

void run(const std::vector<std::string>& arguments) {
  Settings settings;
  std::optional<std::pair<std::size_t, std::size_t>> peak;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--quick") {
      settings.rounds = 3;
    } else if (arguments[i] == "--python" && i + 1 < arguments.size()) {
      settings.python = arguments[++i];
    } else if (arguments[i] == "--peak" && i + 2 < arguments.size()) {
      peak.emplace(std::stoul(arguments[i + 1]), std::stoul(arguments[i + 2]));
      i += 2;
    } else if (kTables.count(arguments[i]) > 0) {
      settings.tables.insert(arguments[i]);
    } else if (arguments[i] == "--help") {
      std::cout << kUsage;
      return;
    } else {
      throw Error("there is no table or option '" + arguments[i] + "': see --help.");
    }
  }
  if (!torch::cuda::is_available()) throw Error("there is no GPU here: run this on a machine with one.");
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  if (peak) return print_peak(peak->first, peak->second);
  if (settings.tables.empty()) settings.tables = {"kernels", "steps", "memory"};
  print_tables(settings);
}

}  // namespace
}  // namespace sadam::bench

int main(int argc, char** argv) {
  try {
    sadam::bench::run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "gpu_tables: " << error.what() << '\n';
    return 1;
  }
}
