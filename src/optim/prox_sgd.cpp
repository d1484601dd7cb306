#include <sadam/prox_sgd.h>
#include <torch/nn/module.h>

#include "optim/checks.h"
#include "optim/rules.h"
#include "optim/state.h"
#include "step/archive.h"
#include "step/engine.h"
#include "step/options.h"

namespace sadam {

using torch::optim::OptimizerParamGroup;
using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

// ---- options and state ------------------------------------------------------------------------------------

ProxSGDOptions::ProxSGDOptions(double lr) : lr_(lr) {}

void ProxSGDOptions::serialize(InputArchive& archive) {
  kernels::GroupRule rule;
  step::visit_prox_sgd(rule, step::FieldReader{archive});
  lr(rule.adam.lr).momentum(rule.momentum).l1(rule.l1);
}

void ProxSGDOptions::serialize(OutputArchive& archive) const {
  const auto rule = optim::rule_of(*this);
  step::visit_prox_sgd(rule, step::FieldWriter{archive});
}

bool operator==(const ProxSGDOptions& lhs, const ProxSGDOptions& rhs) {
  return lhs.lr() == rhs.lr() && lhs.momentum() == rhs.momentum() && lhs.l1() == rhs.l1();
}

double ProxSGDOptions::get_lr() const { return lr(); }
void ProxSGDOptions::set_lr(const double new_lr) { lr(new_lr); }

void ProxSGDParamState::serialize(InputArchive& archive) {
  momentum_buffer(step::read_value(archive, "momentum_buffer").toTensor());
}

void ProxSGDParamState::serialize(OutputArchive& archive) const {
  archive.write("momentum_buffer", c10::IValue(momentum_buffer()));
}

bool operator==(const ProxSGDParamState& lhs, const ProxSGDParamState& rhs) {
  return torch::equal(lhs.momentum_buffer(), rhs.momentum_buffer());
}

// ---- the optimizer ----------------------------------------------------------------------------------------

ProxSGD::ProxSGD(std::vector<OptimizerParamGroup> groups, const ProxSGDOptions& defaults)
    : Optimizer(std::move(groups), std::make_unique<ProxSGDOptions>(defaults)) {
  check_options(defaults, "");
  check();
}

ProxSGD::ProxSGD(std::vector<torch::Tensor> parameters, const ProxSGDOptions& defaults)
    : ProxSGD(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))}, defaults) {}

ProxSGD::ProxSGD(const torch::nn::Module& module, const ProxSGDOptions& defaults)
    : ProxSGD(groups_of(module), defaults) {
  adopt(module);
}

void ProxSGD::check_options(const torch::optim::OptimizerOptions& given, const std::string& where) const {
  const auto& options = optim::options_as<ProxSGDOptions>(given, where, "ProxSGDOptions");
  optim::require_at_least_zero(options.lr(), where, "lr");
  optim::require_fraction(options.momentum(), where, "momentum");
  optim::require_at_least_zero(options.l1(), where, "l1");
}

torch::Tensor ProxSGD::step(LossClosure closure) {
  step::Request request;
  request.caller = "ProxSGD::step";
  if (closure) request.parts = {std::move(closure)};
  return run(request);
}

void ProxSGD::describe(step::Problem& problem) const {
  problem.update = step::Update::prox_sgd;
  for (const auto& group : param_groups())
    problem.rules.push_back(optim::rule_of(static_cast<const ProxSGDOptions&>(group.options())));
}

void ProxSGD::find_state(step::Item& item) {
  auto& buffer = optim::state_of<ProxSGDParamState>(state(), item.parameter).momentum_buffer();
  step::ensure_moment(buffer, item.parameter);
  item.first_moment = buffer;
}

void ProxSGD::set_updates(const step::Item&) {}  // it does not count them

std::unique_ptr<torch::optim::OptimizerParamState> ProxSGD::make_state() const {
  return std::make_unique<ProxSGDParamState>();
}

std::vector<torch::Tensor> ProxSGD::tensors_of(const torch::optim::OptimizerParamState& state) const {
  return {static_cast<const ProxSGDParamState&>(state).momentum_buffer()};
}

}  // namespace sadam
