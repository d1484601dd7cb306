// Prints the GPU's tables of docs/benchmarks.md: steps of ResNet-18 and QATNet as ratios to AdamW captured as
// a graph, timed in turns in this one process, and the bandwidth of the kernels beside a device's own copy.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <sadam/sadam.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels_table.h"
#include "line_process.h"
#include "nn/qat_net.h"
#include "nn/resnet18.h"
#include "report.h"
#include "turns.h"

namespace sadam::bench {
namespace {

using Batch = std::vector<torch::Tensor>;

torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::nn::functional::cross_entropy(logits.to(torch::kDouble), labels);
}

/// Steps of one kind on one network, and what they need.
struct Runner {
  std::string name;
  std::function<void()> step;
  std::shared_ptr<void> holds;
  double peak_gib = 0;
};

/// What is trained: how to make the network, and its loss.
struct Workload {
  std::string name;
  std::function<std::shared_ptr<torch::nn::Module>()> make;
  GraphedStep::Loss loss;
  Batch batch;
};

Workload resnet(std::int64_t batch) {
  torch::manual_seed(1);
  return {"ResNet-18, 224 px, 100 classes, batch " + std::to_string(batch),
          [] {
            auto net = nn::ResNet18(nn::ResNet18Options{100});
            net->to(torch::kCUDA);
            return net.ptr();
          },
          [](torch::nn::Module& net, const Batch& b) {
            return cross_entropy(static_cast<nn::ResNet18Impl&>(net).forward(b[0]), b[1]);
          },
          {torch::randn({batch, 3, 224, 224}).to(torch::kCUDA),
           torch::randint(100, {batch}, torch::kLong).to(torch::kCUDA)}};
}

Workload qat_net() {
  torch::manual_seed(1);
  return {"QATNet, 32 px, 100 classes, 2 bits, batch 128",
          [] {
            auto net = nn::QATNet(nn::QATNetOptions{});
            net->to(torch::kCUDA);
            return net.ptr();
          },
          [](torch::nn::Module& net, const Batch& b) {
            return cross_entropy(static_cast<nn::QATNetImpl&>(net).forward(b[0]), b[1]);
          },
          {torch::randn({128, 3, 32, 32}).to(torch::kCUDA),
           torch::randint(100, {128}, torch::kLong).to(torch::kCUDA)}};
}

double peak_gib() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
  return static_cast<double>(stats.allocated_bytes[0].peak) / 0x1p30;
}

Runner torch_adamw(const Workload& work) {
  struct Holds {
    std::shared_ptr<torch::nn::Module> net;
    std::unique_ptr<torch::optim::AdamW> optimizer;
  };
  auto holds = std::make_shared<Holds>();
  holds->net = work.make();
  holds->optimizer = std::make_unique<torch::optim::AdamW>(holds->net->parameters(), 1e-3);
  return {"torch AdamW, eager",
          [holds, work] {
            holds->optimizer->zero_grad();
            work.loss(*holds->net, work.batch).backward();
            holds->optimizer->step();
          },
          holds};
}

template <class Optimizer, class Options>
Runner sadam_steps(const std::string& name, const Workload& work, const Options& options,
                   const GraphOptions& graph) {
  struct Holds {
    std::shared_ptr<torch::nn::Module> net;
    std::unique_ptr<Optimizer> optimizer;
    std::unique_ptr<GraphedStep> step;
  };
  auto holds = std::make_shared<Holds>();
  holds->net = work.make();
  holds->optimizer = std::make_unique<Optimizer>(*holds->net, options);
  holds->step = std::make_unique<GraphedStep>(holds->net, *holds->optimizer, work.loss, graph);
  (*holds->step)(work.batch);
  if (graph.capture() && !holds->step->is_captured())
    throw Error(name + " of " + work.name + " was not captured: " + holds->step->why_not());
  return {name, [holds, work] { (*holds->step)(work.batch); }, holds};
}

void synchronize() { c10::cuda::device_synchronize(); }

double seconds_per_step(const Runner& runner, int steps) {
  return seconds_of(
             [&] {
               for (int i = 0; i < steps; ++i) runner.step();
               synchronize();
             },
             1) /
         steps;
}

struct Row {
  std::string name;
  std::function<Runner()> make;
  std::optional<Budget> budget;  // ratio to the captured AdamW
};

/// Makes it, takes two steps and notes the memory that these took at most.
Runner made_and_warm(const std::function<Runner()>& make) {
  c10::cuda::CUDACachingAllocator::emptyCache();
  const auto before =
      c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device()).allocated_bytes[0].current;
  c10::cuda::CUDACachingAllocator::resetPeakStats(c10::cuda::current_device());
  auto runner = make();
  for (int i = 0; i < 2; ++i) runner.step();
  synchronize();
  runner.peak_gib = peak_gib() - static_cast<double>(before) / 0x1p30;
  return runner;
}

void steps_table(Report& report, const Workload& work, const std::vector<Row>& rows, int steps, int rounds,
                 const std::function<double()>& python) {
  std::vector<Runner> runners;
  for (const auto& row : rows) runners.push_back(made_and_warm(row.make));
  Measurements measurements;
  for (auto& runner : runners)
    measurements.emplace_back(runner.name, [&runner, steps] { return seconds_per_step(runner, steps); });
  if (python) measurements.emplace_back("PyTorch AdamW, captured", python);
  const auto times = measure_in_turns(measurements, rounds);
  const auto& graph = times.at("AdamW, captured");
  const auto& eager = times.at("torch AdamW, eager");
  report.begin(work.name, {"step", "ms", "to captured AdamW", "budget", "to eager AdamW", "peak GiB"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& mine = times.at(runners[i].name);
    const auto to_graph = ratio(mine, graph);
    report.row({runners[i].name, milliseconds(mine), with_quartiles(to_graph, 2),
                report.verdict(to_graph.median, rows[i].budget), with_quartiles(ratio(mine, eager), 2),
                fixed(runners[i].peak_gib, 2)});
  }
  if (python) {
    const auto& theirs = times.at("PyTorch AdamW, captured");
    report.row({"PyTorch AdamW, captured (Python)", milliseconds(theirs),
                with_quartiles(ratio(theirs, graph), 2), "", with_quartiles(ratio(theirs, eager), 2), ""});
    const auto to_python = ratio(graph, theirs);
    report.row({"our captured AdamW to PyTorch's", "", with_quartiles(to_python, 2),
                report.verdict(to_python.median, at_most(1.1)), "", ""});
  }
  report.end();
}

std::vector<Row> rows_for(const Workload& work, std::optional<Budget> two, std::optional<Budget> eight) {
  const auto captured = GraphOptions();
  const auto adam = AdamWOptions(1e-3);
  const auto probes = [](int k) { return SAdamOptions(1e-3).probes(k); };
  return {
      {"", [&work] { return torch_adamw(work); }, {}},
      {"",
       [=, &work] { return sadam_steps<AdamW>("AdamW, eager", work, adam, GraphOptions().capture(false)); },
       {}},
      {"", [=, &work] { return sadam_steps<AdamW>("AdamW, captured", work, adam, captured); }, {}},
      {"",
       [=, &work] {
         return sadam_steps<SAdam>("S-Adam k=2, eager", work, probes(2), GraphOptions().capture(false));
       },
       {}},
      {"", [=, &work] { return sadam_steps<SAdam>("S-Adam k=2, captured", work, probes(2), captured); }, two},
      {"",
       [=, &work] {
         return sadam_steps<SAdam>("S-Adam k=8, eager", work, probes(8), GraphOptions().capture(false));
       },
       {}},
      {"", [=, &work] { return sadam_steps<SAdam>("S-Adam k=8, captured", work, probes(8), captured); },
       eight},
  };
}

void streams_table(Report& report, const Workload& work, int steps, int rounds) {
  std::vector<Runner> runners;
  for (const int k : {2, 8, 16})
    for (const int streams : {0, 1, 2, 4, 8, 16})
      if (streams <= k)
        runners.push_back(made_and_warm([&] {
          return sadam_steps<SAdam>("k=" + std::to_string(k) + ", " + std::to_string(streams) + " streams",
                                    work, SAdamOptions(1e-3).probes(k), GraphOptions().streams(streams));
        }));
  Measurements measurements;
  for (auto& runner : runners)
    measurements.emplace_back(runner.name, [&runner, steps] { return seconds_per_step(runner, steps); });
  const auto times = measure_in_turns(measurements, rounds);
  report.begin("Streams: " + work.name, {"step", "ms", "peak GiB"});
  for (const auto& runner : runners)
    report.row({runner.name, milliseconds(times.at(runner.name)), fixed(runner.peak_gib, 2)});
  report.end();
}

void run(const std::vector<std::string>& arguments) {
  if (!torch::cuda::is_available()) throw Error("there is no GPU here: run this on a machine with one.");
  const bool streams = std::find(arguments.begin(), arguments.end(), "--streams") != arguments.end();
  const bool quick = std::find(arguments.begin(), arguments.end(), "--quick") != arguments.end();
  const int rounds = quick ? 3 : 9;
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  std::cout << "GPU: " << at::cuda::getCurrentDeviceProperties()->name << ", libtorch " << TORCH_VERSION
            << ", float32 without TF32\n\n";
  Report report;
  kernels_table(report, 100'000'000, rounds);
  std::unique_ptr<LineProcess> python;
  std::string script;
  for (const auto& argument : arguments)
    if (argument.rfind("--python=", 0) == 0) script = argument.substr(9);
  if (!script.empty()) python = std::make_unique<LineProcess>(std::vector<std::string>{"python3", script});
  if (python && !python->ask("2 1")) {
    python.reset();
    std::cout << "PyTorch's captured AdamW is left out: python3 has no torch and torchvision with CUDA.\n\n";
  }
  for (const int batch : {2, 64}) {
    const auto work = resnet(batch);
    const int steps = batch == 2 ? 40 : 8;
    const auto rows = batch == 2 ? rows_for(work, at_most(1.4), at_most(2.5))
                                 : rows_for(work, at_most(1.45), at_most(2.95));
    std::function<double()> theirs;
    if (python)
      theirs = [&] {
        return std::stod(python->ask(std::to_string(batch) + " " + std::to_string(steps)).value());
      };
    steps_table(report, work, rows, steps, rounds, theirs);
    if (streams) streams_table(report, work, steps, rounds);
  }
  const auto small = qat_net();
  steps_table(report, small, rows_for(small, {}, {}), 100, rounds, nullptr);
  if (streams) streams_table(report, small, 100, rounds);
  std::cout << report.judged() - report.over() << " of " << report.judged() << " budgets kept.\n";
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
