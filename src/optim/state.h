// One way to reach a parameter's state: torch keys it by a string in 1.13 and by a pointer in 2.x.
#pragma once

#include <sadam/adamw.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "step/item.h"

namespace sadam::optim {

using StateMap = std::decay_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;

template <class Key = StateMap::key_type>
Key state_key(const at::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    std::array<char, 2 + 2 * sizeof(void*)> address = {'0', 'x'};  // as torch 1.13 spells it
    const auto number = reinterpret_cast<std::uintptr_t>(parameter.unsafeGetTensorImpl());
    return {address.data(), std::to_chars(address.data() + 2, address.end(), number, 16).ptr};
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

/// The state of a parameter, or null if it has none yet.
template <class State>
State* state_if_any(const StateMap& states, const at::Tensor& parameter) {
  const auto found = states.find(state_key(parameter));
  return found == states.end() ? nullptr : static_cast<State*>(found->second.get());
}

/// The state of a parameter, made if it has none yet.
template <class State>
State& state_of(StateMap& states, const at::Tensor& parameter) {
  auto& slot = states[state_key(parameter)];
  if (!slot) slot = std::make_unique<State>();
  return static_cast<State&>(*slot);
}

// What AdamW and SAdam keep.

inline void find_adam_state(StateMap& states, step::Item& item) {
  auto& state = state_of<AdamWParamState>(states, item.parameter);
  step::ensure_moment(state.exp_avg(), item.parameter);
  step::ensure_moment(state.exp_avg_sq(), item.parameter);
  item.first_moment = state.exp_avg();
  item.second_moment = state.exp_avg_sq();
  item.t = state.step();
}

/// Whoever wants to start afresh clears the optimizer's state(): then there is nothing to write to.
inline void set_adam_updates(const StateMap& states, const step::Item& item) {
  auto* const state = state_if_any<AdamWParamState>(states, item.parameter);
  if (state != nullptr && item.first_moment.defined() && state->exp_avg().is_same(item.first_moment))
    state->step(item.t);
}

inline std::vector<at::Tensor> moments_of(const torch::optim::OptimizerParamState& state) {
  const auto& moments = static_cast<const AdamWParamState&>(state);
  return {moments.exp_avg(), moments.exp_avg_sq()};
}

}  // namespace sadam::optim
