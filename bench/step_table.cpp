// A step of S-Adam cannot cost less than k forward passes and a step of AdamW: what does it cost beyond them?
#include <sadam/adamw.h>
#include <sadam/averaged_weights.h>
#include <sadam/s_adam.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/allocation.h"
#include "tables.h"
#include "workload.h"

namespace sadam::bench {
namespace {

namespace nn = torch::nn;

using Loss = std::function<torch::Tensor()>;

constexpr double kLearningRate = 1e-5;

// 32-pixel images, 100 classes, 210 thousand parameters.
nn::Sequential small_network() {
  torch::manual_seed(1);
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 16, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Flatten(), nn::Dropout(0.5), nn::Linear(32 * 8 * 8, 100));
}

Loss loss_of(nn::Sequential network) {
  return [network = std::move(network), images = torch::randn({128, 3, 32, 32}),
          labels = torch::randint(100, {128}, torch::kLong)]() mutable {
    return nn::functional::cross_entropy(network->forward(images), labels);
  };
}

SAdamOptions along_step() {
  return SAdamOptions(kLearningRate).directions(Directions::step).statistic(Statistic::residual);
}

// One step of S-Adam, which also notes how much of it was spent in probing, but outside the closure.
class WatchedStep {
 public:
  WatchedStep(SAdam& optimizer, Loss loss) : optimizer_(optimizer), loss_(std::move(loss)) {}

  void run() {
    int evaluation = 0;
    double in_probes = 0;
    const auto start = Clock::now();
    optimizer_.step([&] {
      const auto before = Clock::now();
      auto value = loss_();
      if (evaluation++ > 0) in_probes += seconds_since(before);  // the first is the base evaluation
      return value;
    });
    const double outside = optimizer_.summary().probe_seconds - in_probes;
    shares_.push_back(outside / (seconds_since(start) - outside));
  }

  /// For each step: the time outside the closure as a fraction of all the rest.
  const std::vector<double>& shares() const { return shares_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  SAdam& optimizer_;
  Loss loss_;
  std::vector<double> shares_;
};

// What each method takes on top of a step of AdamW.
void methods_table(Report& report, const Settings& settings) {
  report.begin("The same network, other methods", {"method", "ms", "in AdamW steps"});
  const auto network = small_network();
  const auto loss = loss_of(network);
  std::vector<std::string> names;
  Variants variants;
  const auto add = [&](const std::string& name, const auto& optimizer) {
    names.push_back(name);
    variants.emplace_back(name, [optimizer, &loss] { optimizer->step(loss); });
  };
  const auto adamw = [&](const std::string& name, const AdamWOptions& options) {
    add(name, std::make_shared<AdamW>(*network, options));
  };
  const auto at = [](GradientAt where) { return AdamWOptions(kLearningRate).gradient_at(where); };
  const std::string kBase = "AdamW";
  adamw(kBase, AdamWOptions(kLearningRate));
  add("S-Adam, step probe", std::make_shared<SAdam>(*network, along_step()));
  add("S-Adam, held, every 4th step",
      std::make_shared<SAdam>(*network, along_step().brake(Brake::held).interval(4)));
  adamw("SAM", at(GradientAt::ascent));
  adamw("ASAM", at(GradientAt::adaptive_ascent));
  adamw("randomized smoothing", at(GradientAt::nearby));
  adamw("AdaBound", AdamWOptions::adabound(kLearningRate));
  names.emplace_back("AdamW, averaged weights");
  variants.emplace_back(names.back(),
                        [&loss, optimizer = std::make_shared<AdamW>(*network, AdamWOptions(kLearningRate)),
                         average = std::make_shared<AveragedWeights>(network)] {
                          optimizer->step(loss);
                          average->update();
                        });
  // Four calls, so that a probe at every fourth step counts once.
  const auto times = time_in_turns(variants, settings.quick ? 5 : 20, 4);
  for (const auto& name : names)
    report.row(
        {name, milliseconds(times.at(name)), with_quartiles(ratio(times.at(name), times.at(kBase)), 2)});
  report.end();
}

}  // namespace

void step_table(Report& report, const Settings& settings) {
  // By default a forward pass here takes no page fault or four thousand, depending on what else lies on the
  // heap, and the variants would differ by that.
  base::keep_freed_memory();
  report.begin("A step on a small convolutional network, batch 128",
               {"k", "S-Adam ms", "AdamW ms", "forward ms", "in AdamW steps", "in k forwards + AdamW step",
                "beyond them, %", "budget", "outside the closure, %"});
  const auto network = small_network();
  const auto loss = loss_of(network);
  const auto random = [](int k) { return SAdamOptions(kLearningRate).probes(k); };
  struct Row {
    std::string label;
    SAdamOptions options;
    int k;
  };

  for (const auto& [label, options, k] :
       {Row{"1", random(1), 1}, Row{"2", random(2), 2}, Row{"4", random(4), 4}, Row{"8", random(8), 8},
        Row{"1, along the step", along_step(), 1}}) {
    AdamW adamw(*network, AdamWOptions(kLearningRate));
    SAdam s_adam(*network, options);
    WatchedStep watched(s_adam, loss);
    const auto times = time_in_turns({{"AdamW", [&] { adamw.step(loss); }},
                                      {"S-Adam", [&] { watched.run(); }},
                                      {"k forwards",
                                       [&, k = k] {
                                         const torch::NoGradGuard no_grad;
                                         for (int i = 0; i < k; ++i) loss().item<double>();
                                       }}},
                                     settings.quick ? 10 : 30, 2);
    Times unavoidable;
    Times forward;
    std::vector<double> beyond;
    for (std::size_t i = 0; i < times.at("AdamW").size(); ++i) {
      forward.push_back(times.at("k forwards")[i] / k);
      unavoidable.push_back(times.at("k forwards")[i] + times.at("AdamW")[i]);
      beyond.push_back(100 * (times.at("S-Adam")[i] / unavoidable[i] - 1));
    }
    const auto excess = spread_of(beyond);
    auto outside = spread_of(watched.shares());
    outside = {100 * outside.low, 100 * outside.median, 100 * outside.high};
    report.row({label, milliseconds(times.at("S-Adam")), milliseconds(times.at("AdamW")),
                milliseconds(forward), with_quartiles(ratio(times.at("S-Adam"), times.at("AdamW")), 2),
                with_quartiles(ratio(times.at("S-Adam"), unavoidable), 3), with_quartiles(excess, 1),
                report.verdict(excess.median, at_most(5), " %"), with_quartiles(outside, 1)});
  }
  report.end();
  methods_table(report, settings);
}

}  // namespace sadam::bench
