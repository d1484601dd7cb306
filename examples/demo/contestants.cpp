#include "contestants.h"

#include <algorithm>
#include <utility>

namespace demo {

namespace {

using sadam::SAdamOptions;

std::unique_ptr<sadam::Optimizer> adamw(std::vector<torch::Tensor> parameters, const Setting& setting) {
  return std::make_unique<sadam::AdamW>(std::move(parameters),
                                        sadam::AdamWOptions(setting.lr).weight_decay(setting.weight_decay));
}

// The brake shortens the step and not the decay, so the decay is divided by what the learning rate loses.
std::unique_ptr<sadam::Optimizer> control(std::vector<torch::Tensor> parameters, const Setting& setting) {
  return std::make_unique<sadam::AdamW>(std::move(parameters),
                                        sadam::AdamWOptions(setting.lr * setting.mean_brake)
                                            .weight_decay(setting.weight_decay / setting.mean_brake));
}

std::unique_ptr<sadam::Optimizer> prox_sgd(std::vector<torch::Tensor> parameters, const Setting& setting) {
  return std::make_unique<sadam::ProxSGD>(std::move(parameters),
                                          sadam::ProxSGDOptions(setting.prox_lr).l1(setting.prox_l1));
}

Contestant s_adam(std::string name, const SAdamOptions& options) {
  const bool random = options.directions() != sadam::Directions::step;
  return {std::move(name),
          [options](std::vector<torch::Tensor> parameters, const Setting& setting) {
            auto own = options;
            own.lr(setting.lr).weight_decay(setting.weight_decay).seed(setting.seed);
            return std::make_unique<sadam::SAdam>(std::move(parameters), own);
          },
          random};
}

}  // namespace

const std::vector<Contestant>& contestants() {
  static const std::vector<Contestant> all = {
      {"AdamW", adamw, false},
      {"Prox-SGD", prox_sgd, false},
      s_adam("S-Adam", SAdamOptions()),
      {"AdamW × S-Adam's mean brake", control},
      s_adam("S-Adam paper()", SAdamOptions::paper()),
      s_adam("S-Adam reference()", SAdamOptions::reference()),
      s_adam("S-Adam residual", SAdamOptions().statistic(sadam::Statistic::residual)),
      s_adam("S-Adam step, residual",
             SAdamOptions().directions(sadam::Directions::step).statistic(sadam::Statistic::residual)),
  };
  return all;
}

void BrakeLog::add(const sadam::StepSummary& summary) {
  ++steps_;
  if (summary.probed) ++probed_;
  if (summary.within_noise) ++within_noise_;
  brake_sum_ += summary.brake;
  lgi_sum_ += summary.lgi;
  min_ = std::min(min_, summary.brake);
  max_ = std::max(max_, summary.brake);
}

void BrakeLog::add(const BrakeLog& other) {
  steps_ += other.steps_;
  probed_ += other.probed_;
  within_noise_ += other.within_noise_;
  brake_sum_ += other.brake_sum_;
  lgi_sum_ += other.lgi_sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double BrakeLog::mean() const { return steps_ > 0 ? brake_sum_ / static_cast<double>(steps_) : 1.0; }

double BrakeLog::mean_lgi() const { return steps_ > 0 ? lgi_sum_ / static_cast<double>(steps_) : 0.0; }

}  // namespace demo
