// What an engine trains, made of plain tensors: no optimizer of torch's and no module.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "step/engine.h"

namespace sadam::testing {

using TensorGroups = std::vector<std::vector<at::Tensor>>;

/// Items over the tensors of each group, numbered in order.
inline step::Items items_of(const TensorGroups& groups) {
  step::Items items;
  std::uint64_t first = 0;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      auto& item = items.emplace_back();
      item.parameter = groups[g][i];
      item.group = static_cast<std::int64_t>(g);
      item.index = static_cast<std::int64_t>(i);
      item.first = first;
      first += static_cast<std::uint64_t>(item.parameter.numel());
    }
  return items;
}

/// Adam with a plan to probe, and moments of its own, which its copies share.
inline step::Problem plain_problem(const TensorGroups& groups, double lr = 0.01) {
  struct State {
    at::Tensor first, second;
    std::int64_t t = 0;
  };
  step::Problem problem;
  problem.items = items_of(groups);
  for (const auto& item : problem.items) problem.parameters.push_back(item.parameter);
  kernels::GroupRule rule;
  rule.lr = lr;
  rule.damping = 2;
  problem.rules.assign(groups.size(), rule);
  problem.plan.emplace();
  const auto states = std::make_shared<std::map<std::pair<std::int64_t, std::int64_t>, State>>();
  problem.find_state = [states](step::Item& item) {
    auto& state = (*states)[{item.group, item.index}];
    step::ensure_moment(state.first, item.parameter);
    step::ensure_moment(state.second, item.parameter);
    item.first_moment = state.first;
    item.second_moment = state.second;
    item.t = state.t;
  };
  problem.set_updates = [states](const step::Item& item) {
    auto& state = (*states)[{item.group, item.index}];
    if (item.first_moment.defined() && state.first.is_same(item.first_moment)) state.t = item.t;
  };
  problem.name_of = [](const step::Item& item) { return "parameter " + std::to_string(item.index); };
  return problem;
}

inline step::Request asking_for(std::vector<step::LossClosure> parts) {
  step::Request request;
  request.parts = std::move(parts);
  return request;
}

}  // namespace sadam::testing
