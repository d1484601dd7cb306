#include <sadam/adamw.h>
#include <torch/nn/module.h>

#include "optim/options.h"
#include "optim/state.h"
#include "step/archive.h"
#include "step/engine.h"

namespace sadam {

using torch::optim::OptimizerParamGroup;
using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

// ---- the state
// ---------------------------------------------------------------------------------------------

void AdamWParamState::serialize(InputArchive& archive) {
  step(step::read_value(archive, "step").toInt());
  exp_avg(step::read_value(archive, "exp_avg").toTensor());
  exp_avg_sq(step::read_value(archive, "exp_avg_sq").toTensor());
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
  optim::check_values(optim::options_as<AdamWOptions>(given, where, "AdamWOptions"), where);
}

torch::Tensor AdamW::step(LossClosure closure) {
  step::Request request;
  request.caller = "AdamW::step";
  if (closure) request.parts = {std::move(closure)};
  return run(request);
}

void AdamW::describe(step::Problem& problem) const {
  for (const auto& group : param_groups())
    problem.rules.push_back(optim::rule_of(static_cast<const AdamWOptions&>(group.options())));
}

void AdamW::find_state(step::Item& item) { optim::find_adam_state(state(), item); }
void AdamW::set_updates(const step::Item& item) { optim::set_adam_updates(state(), item); }

std::unique_ptr<torch::optim::OptimizerParamState> AdamW::make_state() const {
  return std::make_unique<AdamWParamState>();
}

std::vector<torch::Tensor> AdamW::tensors_of(const torch::optim::OptimizerParamState& state) const {
  return optim::moments_of(state);
}

}  // namespace sadam
