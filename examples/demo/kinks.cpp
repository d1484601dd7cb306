#include "kinks.h"

#include <torch/torch.h>

#include <cmath>
#include <ostream>

#include "contestants.h"
#include "table.h"

namespace demo {

namespace {

constexpr std::size_t early = 100;
constexpr std::size_t steps = 300;
constexpr std::ptrdiff_t ends = 50;  // steps that count as the beginning and as the end
constexpr Point start = {-1.5, 2.0};
constexpr double lr = 0.05;

double distance(const Point& a) { return std::hypot(a[0] - kinks_minimiser[0], a[1] - kinks_minimiser[1]); }

Path run(const Contestant& contestant, const Setting& setting, BrakeLog& log) {
  auto w = torch::tensor({start[0], start[1]}, torch::kFloat64).requires_grad_();
  const auto optimizer = contestant.make({w}, setting);
  const auto f = [&w] { return (w - 1).abs().sum() + 0.5 * w.square().sum(); };
  const auto here = [data = w.data_ptr<double>()] { return Point{data[0], data[1]}; };

  Path path{contestant.name, {here()}, {}};
  for (std::size_t step = 0; step < steps; ++step) {
    optimizer->step(f);
    log.add(optimizer->summary());
    path.brakes.push_back(optimizer->summary().brake);
    path.points.push_back(here());
  }
  return path;
}

/// One row of the table, over all seeds.
struct Results {
  std::vector<double> early_excess;  // f − f*
  std::vector<double> excess;
  std::vector<double> distances;
  std::vector<double> early_brakes;  // mean of the first steps of each run
  std::vector<double> late_brakes;
  BrakeLog brakes;

  void add(const Path& path, const BrakeLog& log) {
    early_excess.push_back(kinks(path.points[early]) - kinks_minimum);
    excess.push_back(kinks(path.points.back()) - kinks_minimum);
    distances.push_back(distance(path.points.back()));
    early_brakes.push_back(mean({path.brakes.begin(), path.brakes.begin() + ends}));
    late_brakes.push_back(mean({path.brakes.end() - ends, path.brakes.end()}));
    brakes.add(log);
  }

  std::vector<std::string> cells(const std::string& name) const {
    std::vector<std::string> cells = {name, scientific(mean(early_excess)), scientific(mean(excess)),
                                      excess.size() > 1 ? scientific(deviation(excess)) : "–",
                                      scientific(mean(distances))};
    if (!brakes.probed()) return cells;
    for (const double value : {brakes.mean(), brakes.min(), brakes.max(), brakes.mean_lgi()})
      cells.push_back(fixed(value, 2));
    return cells;
  }
};

std::string in_words(const std::vector<Results>& results) {
  std::size_t lowest = 0;
  for (std::size_t i = 1; i < results.size(); ++i)
    if (mean(results[i].excess) < mean(results[lowest].excess)) lowest = i;
  const auto end = [&](std::size_t row) { return scientific(mean(results[row].excess)); };
  const auto brakes = [&](std::size_t row) {
    return contestants()[row].name + " " + fixed(mean(results[row].early_brakes), 2) + " and " +
           fixed(mean(results[row].late_brakes), 2);
  };
  return "Lowest at the end: " + contestants()[lowest].name + ". S-Adam ended at f − f* = " + end(sadam_row) +
         ", AdamW at " + end(adamw_row) +
         ", and AdamW with every step shortened alike, by S-Adam's mean brake, at " + end(control_row) +
         ". Mean brake over the first and the last " + std::to_string(ends) + " steps: " + brakes(sadam_row) +
         "; " + brakes(residual_row) + "; " + brakes(step_row) + ".";
}

}  // namespace

double kinks(const Point& at) {
  return std::abs(at[0] - 1) + std::abs(at[1] - 1) + 0.5 * (at[0] * at[0] + at[1] * at[1]);
}

std::vector<Path> show_kinks(std::ostream& out, std::uint64_t seed, bool quick) {
  const std::uint64_t seeds = quick ? 3 : 10;
  out << "1. A function with two kinks\n\n"
      << paragraph(
             "f(x, y) = |x−1| + |y−1| + 0.5(x² + y²), with its minimum f* = 1 at (1, 1). From (−1.5, 2), " +
             std::to_string(steps) +
             " steps, exact gradients. Learning rate 0.05 for all; no weight decay and no L1, which would "
             "move the minimum. S-Adam: k = 2 probes, δ = 0.01, λ = 2. Rows that depend on the random "
             "directions are means over " +
             std::to_string(seeds) + " seeds.")
      << '\n';

  std::vector<Results> results(contestants().size());
  std::vector<Path> first;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    Setting setting{.lr = lr, .weight_decay = 0, .prox_lr = lr, .prox_l1 = 0, .seed = seed + i};
    for (std::size_t row = 0; row < results.size(); ++row) {
      if (i > 0 && !contestants()[row].random) continue;
      BrakeLog log;
      auto path = run(contestants()[row], setting, log);
      if (row == sadam_row) setting.mean_brake = log.mean();
      results[row].add(path, log);
      if (i == 0) first.push_back(std::move(path));
    }
  }

  std::vector<std::vector<std::string>> rows = {
      {"", "f − f*", "f − f*", "", "distance", "brake"},
      {"optimizer", "step " + std::to_string(early), "step " + std::to_string(steps), "±", "at the end",
       "mean", "min", "max", "mean ρ"}};
  for (std::size_t row = 0; row < results.size(); ++row)
    rows.push_back(results[row].cells(contestants()[row].name));
  out << table(rows, 2) << '\n'
      << paragraph(
             "±: deviation of f − f* at the end over the seeds. distance: from (1, 1). brake: the factor on "
             "each step, 1 = none; it follows from the measured ρ.")
      << '\n'
      << paragraph(in_words(results)) << '\n';
  return first;
}

}  // namespace demo
