// What several processes gain, what of it they spend on messages, and a model of the cost of a step: fitted
// to steps of two ranks, checked on others, and carried over to GPUs that were not measured.
#include <ATen/ops/linalg_lstsq.h>
#include <ATen/ops/zeros.h>
#include <sadam/process_group.h>
#include <torch/utils.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/allocation.h"
#include "line_process.h"
#include "qat_training.h"
#include "step_cost.h"
#include "tables.h"

namespace sadam::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- one rank, a process of its own -----------------------------------------------------------------------

// A group that knows how long its rank has waited for sums.
class WatchedGroup : public ProcessGroup {
 public:
  explicit WatchedGroup(std::shared_ptr<ProcessGroup> group) : group_(std::move(group)) {}
  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  void sum(const std::vector<at::Tensor>& tensors) override { start_sum(tensors)(); }
  std::function<void()> start_sum(const std::vector<at::Tensor>& tensors) override {
    const auto start = Clock::now();
    auto wait = group_->start_sum(tensors);
    in_sums += seconds_since(start);
    return [this, wait = std::move(wait)] {
      const auto began = Clock::now();
      wait();
      in_sums += seconds_since(began);
    };
  }
  void broadcast(const std::vector<at::Tensor>& tensors) override { group_->broadcast(tensors); }

  double in_sums = 0;

 private:
  std::shared_ptr<ProcessGroup> group_;
};

// A step that a rank is asked for.
struct Work {
  std::string split = "batch";
  int probes = 0;  // 0: AdamW
  std::int64_t examples = 0;

  std::string line(int steps) const {
    return "steps " + split + " " + std::to_string(probes) + " " + std::to_string(examples) + " " +
           std::to_string(steps);
  }
};

struct Trained {
  explicit Trained(const Work& work, const std::shared_ptr<ProcessGroup>& group)
      : batch(work.examples), training(batch) {
    if (work.probes == 0)
      training.use(AdamWOptions(1e-5));
    else
      training.use(SAdamOptions(1e-5).probes(work.probes));
    group->broadcast(training.module().parameters());
    training.optimizer().join(group,
                              GroupOptions().split(work.split == "probes" ? Split::probes : Split::batch));
  }
  Batch batch;
  Training training;
};

}  // namespace

void serve_as_rank(int rank, int size, const std::string& store, int threads) {
  at::set_num_threads(threads);
  base::keep_freed_memory();
  torch::manual_seed(1);
  const auto group = std::make_shared<WatchedGroup>(make_gloo_group(
      c10::make_intrusive<c10d::FileStore>(store, size), RankOptions().rank(rank).size(size)));
  std::map<std::string, std::unique_ptr<Trained>> trained;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    Work work;
    int calls = 0;
    std::function<void()> run;
    words >> what;
    if (what == "steps") {
      words >> work.split >> work.probes >> work.examples >> calls;
      auto& known = trained[work.line(0)];
      if (!known) known = std::make_unique<Trained>(work, group);
      run = [&known] { known->training.step(); };
    } else {
      std::int64_t bytes = 0;
      words >> bytes >> calls;
      run = [&group, tensor = at::zeros({bytes / 4})] { group->sum({tensor}); };
    }
    run();
    group->sum({at::zeros({1})});  // all begin together
    group->in_sums = 0;
    const auto start = Clock::now();
    for (int call = 0; call < calls; ++call) run();
    std::cout << seconds_since(start) / calls << ' ' << group->in_sums / calls << std::endl;
  }
}

namespace {

// ---- ranks that wait for work -----------------------------------------------------------------------------

struct Took {
  double seconds = 0;  // a call, on the slowest rank
  double in_sums = 0;  // on average
};

class Team {
 public:
  Team(int size, int threads)
      : store_(std::filesystem::temp_directory_path() /
               ("sadam-bench-" + std::to_string(::getpid()) + "-" + std::to_string(size))) {
    std::filesystem::remove(store_);
    for (int rank = 0; rank < size; ++rank)
      ranks_.push_back(std::make_unique<LineProcess>(
          std::vector<std::string>{"/proc/self/exe", "--rank", std::to_string(rank), std::to_string(size),
                                   store_.string(), std::to_string(threads)}));
  }
  ~Team() {
    ranks_.clear();
    std::error_code ignored;
    std::filesystem::remove(store_, ignored);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  Took ask(const std::string& line) {
    for (const auto& rank : ranks_) rank->tell(line);
    Took all;
    for (const auto& rank : ranks_) {
      const auto answer = rank->answer();
      if (!answer) throw std::runtime_error("a rank ended at '" + line + "': see its message above.");
      std::istringstream words(*answer);
      Took one;
      words >> one.seconds >> one.in_sums;
      all.seconds = std::max(all.seconds, one.seconds);
      all.in_sums += one.in_sums / static_cast<double>(ranks_.size());
    }
    return all;
  }

 private:
  std::filesystem::path store_;
  std::vector<std::unique_ptr<LineProcess>> ranks_;
};

// ---- the cost of a step -----------------------------------------------------------------------------------

StepLoad load_of(const Work& work, double bytes) {
  const bool splits_batch = work.split == "batch";
  StepLoad load;
  load.examples = static_cast<double>(work.examples);
  load.probes = splits_batch ? work.probes : (work.probes + 1) / 2;
  load.forwards = load.probes * load.examples;
  load.messages = work.probes > 0 ? 2 : 1;
  load.bytes = splits_batch ? bytes : 0;
  return load;
}

// Least squares of relative errors: rows · unknowns = values.
std::vector<double> fit(const std::vector<std::vector<double>>& rows, const std::vector<double>& values) {
  const auto count = static_cast<std::int64_t>(rows.size());
  auto left = at::zeros({count, static_cast<std::int64_t>(rows.front().size())}, at::kDouble);
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t c = 0; c < left.size(1); ++c)
      left[r][c] = rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] /
                   values[static_cast<std::size_t>(r)];
  const auto found = std::get<0>(at::linalg_lstsq(left, at::ones({count, 1}, at::kDouble))).contiguous();
  const auto* const data = found.data_ptr<double>();
  return {data, data + found.numel()};
}

std::string percent(double share, int digits = 1) { return fixed(100 * share, digits); }

std::string name_of(const Work& work) {
  return work.split + ", k = " + std::to_string(work.probes) + ", " + std::to_string(work.examples) +
         " examples a rank";
}

// ---- tables -----------------------------------------------------------------------------------------------

constexpr std::int64_t kBatch = 128;

void add_efficiency(Report& report, const Settings& settings, Team& one, Team& two) {
  report.begin("One process with " + std::to_string(settings.threads) +
                   " threads, and two with half of them: QATNet, batch 128",
               {"k", "split", "1 process, ms", "2 processes, ms", "efficiency", "waiting for sums, %"});
  for (const auto& [probes, split] : {std::pair(0, "batch"), std::pair(2, "batch"), std::pair(8, "batch"),
                                      std::pair(2, "probes"), std::pair(8, "probes")}) {
    const Work whole{"batch", probes, kBatch};
    const Work shared{split, probes, std::string(split) == "batch" ? kBatch / 2 : kBatch};
    std::vector<double> shares;
    const auto times = measure_in_turns({{"one", [&] { return one.ask(whole.line(4)).seconds; }},
                                         {"two",
                                          [&] {
                                            const auto took = two.ask(shared.line(4));
                                            shares.push_back(100 * took.in_sums / took.seconds);
                                            return took.seconds;
                                          }}},
                                        settings.quick ? 7 : 41);
    report.row({std::to_string(probes), split, milliseconds(times.at("one")), milliseconds(times.at("two")),
                with_quartiles(ratio(times.at("one"), times.at("two")), 2),
                with_quartiles(spread_of(shares), 1)});
  }
  report.end();
}

// Medians of what each asks for, in turns.
std::map<std::string, double> medians(Team& team, const std::vector<std::string>& lines, int rounds) {
  Measurements measurements;
  for (const auto& line : lines)
    measurements.emplace_back(line, [&team, line] { return team.ask(line).seconds; });
  std::map<std::string, double> found;
  for (const auto& [line, times] : measure_in_turns(measurements, rounds))
    found[line] = spread_of(times).median;
  return found;
}

void add_model(Report& report, const Settings& settings, Team& two) {
  const int rounds = settings.quick ? 7 : 41;
  const Batch smallest(1);
  double bytes = 0;
  for (const auto& parameter : Training(smallest).module().parameters())
    bytes += static_cast<double>(parameter.nbytes());

  std::vector<std::string> lines;
  std::vector<Work> fitted;
  std::vector<Work> checked = {
      {"batch", 2, 64}, {"batch", 2, 24}, {"batch", 4, 48}, {"batch", 4, 96}, {"probes", 8, 64}};
  std::vector<std::int64_t> sums = {64, 65536, 1 << 20, 1 << 22};
  for (const int probes : {0, 8})
    for (const std::int64_t examples : {16, 32, 64}) fitted.push_back({"batch", probes, examples});
  const auto line_of_sum = [](std::int64_t size) { return "sums " + std::to_string(size) + " 20"; };
  for (const auto size : sums) lines.push_back(line_of_sum(size));
  for (const auto& work : fitted) lines.push_back(work.line(4));
  for (const auto& work : checked) lines.push_back(work.line(4));
  const auto times = medians(two, lines, rounds);

  std::vector<std::vector<double>> rows;
  std::vector<double> values;
  for (const auto size : sums) {
    rows.push_back({1, static_cast<double>(size)});
    values.push_back(times.at(line_of_sum(size)));
  }
  const auto of_sums = fit(rows, values);
  StepCost cost;
  cost.message = of_sums[0];
  cost.byte = of_sums[1];
  rows.clear();
  values.clear();
  for (const auto& work : fitted) {
    const auto load = load_of(work, bytes);
    const double messages = cost.message * load.messages + cost.byte * load.bytes;
    rows.push_back({1, load.examples, load.probes, load.forwards});
    values.push_back(times.at(work.line(4)) - messages);
  }
  const auto of_steps = fit(rows, values);
  cost.step = of_steps[0];
  cost.example = of_steps[1];
  cost.move = of_steps[2];
  cost.forward = of_steps[3];

  report.begin(
      "What a step costs a rank of two: seconds = step + examples · (forward and backward) + probes · "
      "(move + examples · forward) + messages · latency + bytes / bandwidth",
      {"step, ms", "forward and backward of an example, µs", "move, ms", "forward of an example, µs",
       "latency, µs", "bandwidth, GB/s", "gradient, MB"});
  report.row({fixed(1e3 * cost.step, 2), fixed(1e6 * cost.example, 1), fixed(1e3 * cost.move, 2),
              fixed(1e6 * cost.forward, 1), fixed(1e6 * cost.message, 0), fixed(1e-9 / cost.byte, 2),
              fixed(1e-6 * bytes, 2)});
  report.end();
  report.begin("The same, checked", {"step", "fitted", "measured, ms", "model, ms", "error, %"});
  for (const auto& [works, is_fitted] : {std::pair(&fitted, true), std::pair(&checked, false)})
    for (const auto& work : *works) {
      const double measured = times.at(work.line(4));
      const double model = seconds_of(cost, load_of(work, bytes));
      report.row({name_of(work), is_fitted ? "yes" : "", fixed(1e3 * measured, 2), fixed(1e3 * model, 2),
                  percent(model / measured - 1)});
    }
  report.end();
}

}  // namespace

void processes_table(Report& report, const Settings& settings) {
  if (!has_gloo()) {
    std::cout << "\nThe table 'processes' is left out: the library was built without Gloo.\n";
    return;
  }
  Team one(1, settings.threads);
  Team two(2, std::max(settings.threads / 2, 1));
  add_efficiency(report, settings, one, two);
  add_model(report, settings, two);
}

}  // namespace sadam::bench
