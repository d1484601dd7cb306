// A step as the trainer takes it, on QATNet, against the same step written in PyTorch (authors_step.py),
// which runs as a process of its own and in turns with this one.
#include <torch/utils.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/allocation.h"
#include "data/loader.h"
#include "data/synthetic.h"
#include "line_process.h"
#include "qat_training.h"
#include "tables.h"

namespace sadam::bench {
namespace {

constexpr std::size_t kBatch = 128;

// The PyTorch program.
class Python {
 public:
  // Nothing if there is no Python with PyTorch. `script` is the program.
  static std::unique_ptr<Python> start(const std::string& script) {
    if (!std::filesystem::exists(script))
      throw std::runtime_error("there is no " + script + ": name authors_step.py with --authors-step FILE.");
    // Debian's own first: the one in PATH may be another, without Debian's packages.
    for (const char* const program : {"/usr/bin/python3", "python3"}) {
      auto process = std::make_unique<LineProcess>(std::vector<std::string>{program, script});
      if (const auto threads = process->ask("threads 0"))
        return std::unique_ptr<Python>(new Python(std::move(process), std::stoi(*threads)));
    }
    return nullptr;
  }

  // As many as PyTorch chooses by itself.
  int own_threads() const { return own_threads_; }

  // Seconds a step, after one that is not counted.
  double seconds_of(const std::string& optimizer, int threads, int steps) {
    answer("threads " + std::to_string(threads));
    answer(optimizer + " 1");
    return std::stod(answer(optimizer + " " + std::to_string(steps)));
  }

 private:
  Python(std::unique_ptr<LineProcess> process, int own_threads)
      : process_(std::move(process)), own_threads_(own_threads) {}

  std::string answer(const std::string& question) {
    const auto line = process_->ask(question);
    if (!line)
      throw std::runtime_error("authors_step.py ended at '" + question + "': see its message above.");
    return *line;
  }

  std::unique_ptr<LineProcess> process_;
  int own_threads_;
};

// An optimizer of ours and what stands for it in the PyTorch program.
struct Row {
  std::string name;
  std::string python;
  Training& training;
  std::optional<Budget> budget;
};

// All rows are measured in turns; the PyTorch program also with as many threads as we use, where it chose
// another number.
void add_rows(Report& report, const Settings& settings, Python* python, const std::vector<Row>& rows) {
  const int rounds = settings.quick ? 5 : 15;
  constexpr int kSteps = 2;
  std::vector<int> python_threads;
  if (python != nullptr) python_threads.push_back(python->own_threads());
  if (python != nullptr && python->own_threads() != settings.threads)
    python_threads.push_back(settings.threads);

  Measurements measurements;
  for (const auto& row : rows)
    measurements.emplace_back(row.name, [&] { return seconds_of([&] { row.training.step(); }, kSteps); });
  for (const int threads : python_threads)
    measurements.emplace_back(std::to_string(threads), [&rows, python, threads] {
      return python->seconds_of(rows.front().python, threads, kSteps);
    });
  const auto times = measure_in_turns(measurements, rounds);

  for (const auto& row : rows) {
    const auto& ours = times.at(row.name);
    if (python == nullptr) report.row({row.name, milliseconds(ours), "", "", "", ""});
    for (const int threads : python_threads) {
      const bool as_it_comes = threads == python->own_threads();
      const auto& theirs = times.at(std::to_string(threads));
      const auto part = ratio(ours, theirs);
      report.row({row.name, milliseconds(ours), std::to_string(threads), milliseconds(theirs),
                  with_quartiles(part, 3), as_it_comes ? report.verdict(part.median, row.budget) : ""});
    }
  }
}

// Images in memory, one worker: what a step waits for at most.
void print_loading(const Settings& settings, Training& adamw) {
  constexpr std::size_t kBatches = 20;
  data::SyntheticOptions synthetic;
  synthetic.count = kBatches * kBatch;
  data::LoaderOptions options;
  options.batch = kBatch;
  data::Loader loader(data::in_memory(data::make_synthetic(synthetic), Batch::kPixels), options);
  std::size_t epoch = 0;
  const auto times = time_in_turns({{"loading",
                                     [&] {
                                       data::Batch batch;
                                       loader.start(epoch++);
                                       while (loader.next(batch)) {
                                       }
                                     }},
                                    {"AdamW", [&] { adamw.step(); }}},
                                   settings.quick ? 5 : 15, 1);
  auto loading = times.at("loading");
  for (auto& seconds : loading) seconds /= kBatches;
  const auto share = ratio(loading, times.at("AdamW"));
  std::cout << "\nThe loader makes a batch of 128 in " << milliseconds(loading) << " ms on one thread: "
            << with_quartiles({100 * share.low, 100 * share.median, 100 * share.high}, 1)
            << " % of a step of AdamW.\n";
}

}  // namespace

void qat_table(Report& report, const Settings& settings) {
  report.begin("A step of QATNet, 32 pixels, 2 bits, batch 128",
               {"optimizer", "ms", "PyTorch's threads", "PyTorch ms", "of PyTorch's time", "budget"});
  base::keep_freed_memory();
  torch::manual_seed(1);
  const Batch batch(kBatch);
  const auto python = Python::start(settings.authors_step);

  Training adamw(batch);
  adamw.use(AdamWOptions());
  add_rows(report, settings, python.get(), {{"AdamW", "adamw", adamw, std::nullopt}});
  for (const auto& [k, limit] : {std::pair(2, 0.4), std::pair(8, 0.3)}) {
    const auto probes = ", k = " + std::to_string(k);
    Training reference(batch);
    reference.use(SAdamOptions::reference().probes(k));
    Training paper(batch);
    paper.use(SAdamOptions::paper().probes(k));
    const auto theirs = "sadam " + std::to_string(k);
    add_rows(report, settings, python.get(),
             {{"S-Adam reference" + probes, theirs, reference, at_most(limit)},
              {"S-Adam paper" + probes, theirs, paper, std::nullopt}});
  }
  report.end();
  if (!python)
    std::cout << "\nNo Python with PyTorch was found (Debian: python3-torch), so only our times are here.\n";
  print_loading(settings, adamw);
}

}  // namespace sadam::bench
