#include "network.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <ostream>

#include "contestants.h"
#include "progress.h"
#include "table.h"

namespace demo {

namespace {

constexpr std::int64_t classes = 3;
constexpr std::int64_t train_points = 600;
constexpr std::int64_t test_points = 3000;
constexpr std::int64_t batch = 4;
constexpr double wrong_labels = 0.1;

struct Data {
  torch::Tensor x;
  torch::Tensor y;
};

/// One spiral arm for each class, blurred along the turn.
Data spirals(std::int64_t points, double wrong) {
  const auto y = torch::arange(points) % classes;
  const auto t = torch::rand({points});
  const auto angle =
      y * (2 * std::numbers::pi / static_cast<double>(classes)) + 4 * t + 0.2 * torch::randn({points});
  const auto shift = torch::randint(1, classes, {points}, torch::kInt64) * (torch::rand({points}) < wrong);
  return {torch::stack({t * angle.cos(), t * angle.sin()}, 1), (y + shift) % classes};
}

torch::nn::Sequential small_network() {
  return torch::nn::Sequential(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64),
                               torch::nn::ReLU(), torch::nn::Linear(64, classes));
}

// In double: the probes compare losses that differ by little, and float32 would round the difference away.
torch::Tensor loss_of(torch::nn::Sequential& model, const Data& data) {
  return torch::nn::functional::cross_entropy(model->forward(data.x).to(torch::kFloat64), data.y);
}

/// The time of a step, as the mean over the fastest block of steps: what it takes while nobody else uses the
/// machine.
class Stopwatch {
 public:
  void start() { started_ = Clock::now(); }

  void stop() {
    spent_ += Clock::now() - started_;
    if (++steps_ < block) return;
    fastest_ = std::min(fastest_, spent_.count() / block);
    spent_ = {};
    steps_ = 0;
  }

  /// Seconds.
  double fastest() const { return fastest_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int block = 50;

  Clock::time_point started_;
  std::chrono::duration<double> spent_{};
  int steps_ = 0;
  double fastest_ = std::numeric_limits<double>::infinity();
};

struct Run {
  double train_loss = 0;
  double test_accuracy = 0;  // percent
  double step_seconds = 0;
  BrakeLog brakes;
};

/// Data, first weights and order of the batches depend on the seed alone: the same for every contestant.
Run train(const Contestant& contestant, const Setting& setting, std::int64_t epochs) {
  torch::manual_seed(setting.seed);
  const auto training = spirals(train_points, wrong_labels);
  const auto test = spirals(test_points, 0);
  auto model = small_network();
  const auto optimizer = contestant.make(model->parameters(), setting);

  Run run;
  Stopwatch watch;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (const auto& chosen : torch::randperm(train_points).split(batch)) {
      const Data part{training.x.index_select(0, chosen), training.y.index_select(0, chosen)};
      watch.start();
      optimizer->step([&] { return loss_of(model, part); });
      watch.stop();
      run.brakes.add(optimizer->summary());
    }
  }
  run.step_seconds = watch.fastest();

  const torch::NoGradGuard no_grad;
  run.train_loss = loss_of(model, training).item<double>();
  run.test_accuracy =
      100 * model->forward(test.x).argmax(1).eq(test.y).to(torch::kFloat64).mean().item<double>();
  return run;
}

/// One row of the table, over all seeds.
struct Results {
  std::vector<double> train_loss;
  std::vector<double> test_accuracy;
  double step_seconds = std::numeric_limits<double>::infinity();  // of the fastest run
  BrakeLog brakes;

  void add(const Run& run) {
    train_loss.push_back(run.train_loss);
    test_accuracy.push_back(run.test_accuracy);
    step_seconds = std::min(step_seconds, run.step_seconds);
    brakes.add(run.brakes);
  }

  std::vector<std::string> cells(const std::string& name, const Results& adamw) const {
    std::vector<std::string> cells = {name, with_deviation(train_loss, 3), with_deviation(test_accuracy, 1),
                                      fixed(step_seconds / adamw.step_seconds, 2)};
    if (!brakes.probed()) return cells;
    for (const double value : {brakes.mean(), brakes.min(), brakes.max(), brakes.mean_lgi()})
      cells.push_back(fixed(value, 2));
    return cells;
  }
};

/// "+1.2 ± 0.4 points against AdamW (more than two standard errors)", seed by seed.
std::string compared(const Results& one, const Results& other, const std::string& name) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < one.test_accuracy.size(); ++i)
    differences.push_back(one.test_accuracy[i] - other.test_accuracy[i]);
  const double error = deviation(differences) / std::sqrt(static_cast<double>(differences.size()));
  const bool clear = std::abs(mean(differences)) > 2 * error;
  return (mean(differences) < 0 ? "−" : "+") + fixed(std::abs(mean(differences)), 1) + " ± " +
         fixed(error, 1) + " against " + name + (clear ? " (more" : " (less") + " than two standard errors)";
}

std::string in_words(const std::vector<Results>& results) {
  const auto& s_adam = results[sadam_row];
  return "Test accuracy of S-Adam, in points, seed by seed, with the standard error of the mean: " +
         compared(s_adam, results[adamw_row], contestants()[adamw_row].name) + "; " +
         compared(s_adam, results[control_row], contestants()[control_row].name) +
         ". The second comparison shows what the brake does beyond shortening every step alike. As the "
         "number of steps is the same for all, a shorter step also means less training.";
}

std::string about_the_brake(const std::vector<Results>& results) {
  BrakeLog all;
  for (const auto& row : results) all.add(row.brakes);
  return "For orientation: where the loss is a plain slope, ρ averages 1 − 1/k = 0.5 by the paper's formula, "
         "1 by the "
         "authors' code (reference), and 0 by the residual. The probes' differences were within the rounding "
         "of the loss "
         "in " +
         std::to_string(all.within_noise()) + " of " + std::to_string(all.probed_steps()) + " probed steps.";
}

}  // namespace

void show_network(std::ostream& out, std::uint64_t seed, bool quick) {
  const std::uint64_t seeds = quick ? 3 : 4;
  const std::int64_t epochs = quick ? 4 : 20;
  const Setting paper;
  out << "2. A small ReLU network\n\n"
      << paragraph("Three spiral arms in the plane, one class each; " + std::to_string(train_points) +
                   " training points, one label in ten wrong, " + std::to_string(test_points) +
                   " test points, all labels right. Layers 2-64-64-3, batches of " + std::to_string(batch) +
                   ", " + std::to_string(epochs * train_points / batch) +
                   " steps, the paper's settings: learning rate 0.001 and weight decay 0.01 (Prox-SGD: 0.01, "
                   "momentum "
                   "0.9, L1 0.0001), k = 2, δ = 0.01, λ = 2. Mean ± deviation over " +
                   std::to_string(seeds) + " seeds; a seed sets data, first weights and batches.")
      << '\n'
      << std::flush;

  std::vector<Results> results(contestants().size());
  Progress progress(seeds * results.size());
  for (std::uint64_t i = 0; i < seeds; ++i) {
    Setting setting = paper;
    setting.seed = seed + i;
    for (std::size_t row = 0; row < results.size(); ++row) {
      progress.next("seed " + std::to_string(setting.seed) + ", " + contestants()[row].name);
      const auto run = train(contestants()[row], setting, epochs);
      if (row == sadam_row) setting.mean_brake = run.brakes.mean();
      results[row].add(run);
    }
  }
  progress.clear();

  std::vector<std::vector<std::string>> rows = {
      {"", "train", "test", "time per", "brake"},
      {"optimizer", "loss", "accuracy %", "step, ×", "mean", "min", "max", "mean ρ"}};
  for (std::size_t row = 0; row < results.size(); ++row)
    rows.push_back(results[row].cells(contestants()[row].name, results[adamw_row]));
  out << table(rows, 2) << '\n'
      << paragraph(
             "train loss, test accuracy: after the last step. time per step: as a multiple of AdamW's (" +
             fixed(1e6 * results[adamw_row].step_seconds, 0) +
             " µs here), the fastest 50 steps of each. brake: the factor on each step, 1 = none.")
      << '\n'
      << paragraph(in_words(results)) << paragraph(about_the_brake(results)) << '\n';
}

}  // namespace demo
