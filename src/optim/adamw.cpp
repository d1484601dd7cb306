#include <sadam/adamw.h>
#include <torch/nn/module.h>

#include "adam_update.h"
#include "archive.h"
#include "checks.h"
#include "device_work.h"
#include "state.h"

namespace sadam {

using torch::optim::OptimizerParamGroup;
using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

// ---- options and state ------------------------------------------------------------------------------------

AdamWOptions::AdamWOptions(double lr) : lr_(lr) {}

void AdamWOptions::serialize(InputArchive& archive) {
  lr(optim::read_value(archive, "lr").toDouble());
  betas({optim::read_value(archive, "beta1").toDouble(), optim::read_value(archive, "beta2").toDouble()});
  eps(optim::read_value(archive, "eps").toDouble());
  weight_decay(optim::read_value(archive, "weight_decay").toDouble());
}

void AdamWOptions::serialize(OutputArchive& archive) const {
  archive.write("lr", c10::IValue(lr()));
  archive.write("beta1", c10::IValue(std::get<0>(betas())));
  archive.write("beta2", c10::IValue(std::get<1>(betas())));
  archive.write("eps", c10::IValue(eps()));
  archive.write("weight_decay", c10::IValue(weight_decay()));
}

bool operator==(const AdamWOptions& lhs, const AdamWOptions& rhs) {
  return lhs.lr() == rhs.lr() && lhs.betas() == rhs.betas() && lhs.eps() == rhs.eps() &&
         lhs.weight_decay() == rhs.weight_decay() && lhs.amsgrad() == rhs.amsgrad();
}

double AdamWOptions::get_lr() const { return lr(); }
void AdamWOptions::set_lr(const double new_lr) { lr(new_lr); }

void AdamWParamState::serialize(InputArchive& archive) {
  step(optim::read_value(archive, "step").toInt());
  exp_avg(optim::read_value(archive, "exp_avg").toTensor());
  exp_avg_sq(optim::read_value(archive, "exp_avg_sq").toTensor());
}

void AdamWParamState::serialize(OutputArchive& archive) const {
  archive.write("step", c10::IValue(step()));
  archive.write("exp_avg", c10::IValue(exp_avg()));
  archive.write("exp_avg_sq", c10::IValue(exp_avg_sq()));
}

bool operator==(const AdamWParamState& lhs, const AdamWParamState& rhs) {
  return lhs.step() == rhs.step() && torch::equal(lhs.exp_avg(), rhs.exp_avg()) &&
         torch::equal(lhs.exp_avg_sq(), rhs.exp_avg_sq());
}

// ---- the optimizer ----------------------------------------------------------------------------------------

AdamW::AdamW(std::vector<OptimizerParamGroup> groups, const AdamWOptions& defaults)
    : Optimizer(std::move(groups), std::make_unique<AdamWOptions>(defaults)) {
  check_options(defaults, "");
  check();
}

AdamW::AdamW(std::vector<torch::Tensor> parameters, const AdamWOptions& defaults)
    : AdamW(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))}, defaults) {}

AdamW::AdamW(const torch::nn::Module& module, const AdamWOptions& defaults)
    : AdamW(groups_of(module), defaults) {
  adopt(module);
}

void AdamW::check_options(const torch::optim::OptimizerOptions& given, const std::string& where) const {
  const auto& options = optim::options_as<AdamWOptions>(given, where, "AdamWOptions");
  optim::require_at_least_zero(options.lr(), where, "lr");
  optim::require_fraction(std::get<0>(options.betas()), where, "betas[0]");
  optim::require_fraction(std::get<1>(options.betas()), where, "betas[1]");
  optim::require_at_least_zero(options.eps(), where, "eps");
  optim::require_at_least_zero(options.weight_decay(), where, "weight_decay");
  optim::refuse_amsgrad(options.amsgrad(), where);
}

torch::Tensor AdamW::step(LossClosure closure) {
  if (is_on_device()) {
    check();
    return device_work().step(*this, closure, "AdamW::step");
  }
  torch::Tensor loss;
  if (!start_step(closure, "AdamW::step", loss)) return loss;
  optim::AdamLaunch launch;
  for (auto& group : param_groups()) {
    const auto rule = optim::rule_of(static_cast<const AdamWOptions&>(group.options()));
    for (auto& parameter : group.params())
      if (is_trained(parameter))
        launch.add(parameter, optim::state_of<AdamWParamState>(state(), parameter), rule);
  }
  launch.run();
  ++totals_.steps;
  return loss;
}

void AdamW::save(OutputArchive& archive) const {
  fetch_from_device();
  optim::save_state(archive, *this, "AdamW");
}

void AdamW::load(InputArchive& archive) {
  const optim::Factories factories{"AdamW", [] { return std::make_unique<AdamWOptions>(); },
                                   [] { return std::make_unique<AdamWParamState>(); }, optim::moments_of};
  auto loaded = optim::load_state(archive, *this, factories);
  for (const auto& options : loaded.options) check_options(*options, "load: ");
  totals_ = loaded.totals;
  defaults_ = std::move(loaded.defaults);
  forget_device();
  optim::commit_state(std::move(loaded), param_groups(), state());
}

}  // namespace sadam
