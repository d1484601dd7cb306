// What AdamW, ProxSGD and SAdam share, given their options and their state: one text for all three. What
// differs between them are the functions of these names in options.h and state.h.
#pragma once

#include <sadam/optimizer.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optim/options.h"
#include "optim/state.h"

namespace sadam {

template <class Options, class State>
OptimizerOf<Options, State>::OptimizerOf(std::vector<torch::optim::OptimizerParamGroup> groups,
                                         const Options& defaults)
    : Optimizer(std::move(groups), std::make_unique<Options>(defaults)) {
  check();
}

template <class Options, class State>
OptimizerOf<Options, State>::OptimizerOf(std::vector<torch::Tensor> parameters, const Options& defaults)
    : OptimizerOf(std::vector{torch::optim::OptimizerParamGroup(std::move(parameters))}, defaults) {}

template <class Options, class State>
OptimizerOf<Options, State>::OptimizerOf(const torch::nn::Module& module, const Options& defaults)
    : OptimizerOf(groups_of(module), defaults) {
  adopt(module);
}

template <class Options, class State>
void OptimizerOf<Options, State>::check_options(const torch::optim::OptimizerOptions& given,
                                                const std::string& where) const {
  const auto& options = optim::options_as<Options>(given, where);
  optim::check_values(options, where);
  optim::check_against(options, whole(), where);
}

// Also lets the groups follow the optimizer's own options, which changes nothing that a user could see.
template <class Options, class State>
void OptimizerOf<Options, State>::check() {
  if (!defaults_) throw Error("this optimizer was moved from: use the one that it was moved to.");
  check_options(defaults(), "");
  Optimizer::check();
  for (auto& group : param_groups()) optim::inherit(static_cast<Options&>(group.options()), whole());
}

template <class Options, class State>
void OptimizerOf<Options, State>::describe(step::Problem& problem) const {
  optim::describe(whole(), problem);
  for (const auto& group : param_groups())
    problem.rules.push_back(optim::rule_of(static_cast<const Options&>(group.options())));
}

template <class Options, class State>
void OptimizerOf<Options, State>::find_state(step::Item& item) {
  optim::find(optim::state_of<State>(state(), item.parameter), item);
}

/// Whoever wants to start afresh clears the optimizer's state(): then there is nothing to write to.
template <class Options, class State>
void OptimizerOf<Options, State>::set_updates(const step::Item& item) {
  if (auto* const known = optim::state_if_any<State>(state(), item.parameter)) optim::count(*known, item);
}

template <class Options, class State>
std::unique_ptr<torch::optim::OptimizerParamState> OptimizerOf<Options, State>::make_state() const {
  return std::make_unique<State>();
}

template <class Options, class State>
std::vector<torch::Tensor> OptimizerOf<Options, State>::tensors_of(
    const torch::optim::OptimizerParamState& state) const {
  return optim::tensors_of(static_cast<const State&>(state));
}

template <class Options, class State>
std::vector<kernels::GroupMemory> OptimizerOf<Options, State>::accept(
    torch::serialize::InputArchive&, torch::optim::OptimizerOptions& new_defaults,
    const std::vector<std::unique_ptr<torch::optim::OptimizerOptions>>& options) const {
  auto& new_whole = static_cast<Options&>(new_defaults);
  optim::check_values(new_whole, "load: ");
  optim::check_against(new_whole, new_whole, "load: ");
  for (const auto& group_options : options) {
    auto& of_group = static_cast<Options&>(*group_options);
    optim::inherit(of_group, new_whole);
    optim::check_values(of_group, "load: ");
  }
  return {};
}

}  // namespace sadam
