#include <sadam/prox_sgd.h>
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
  optim::check_values(optim::options_as<ProxSGDOptions>(given, where, "ProxSGDOptions"), where);
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
