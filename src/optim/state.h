// What optimizers keep for a parameter, and one way to reach it: torch keys it by a string in 1.13 and by a
// pointer in 2.x.
#pragma once

#include <sadam/adamw.h>
#include <sadam/prox_sgd.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

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

// ---- what AdamW and SAdam keep
// ------------------------------------------------------------------------------

/// Fills in the state of an item.
inline void find(AdamWParamState& state, step::Item& item) {
  step::ensure_moment(state.exp_avg(), item.parameter);
  step::ensure_moment(state.exp_avg_sq(), item.parameter);
  item.first_moment = state.exp_avg();
  item.second_moment = state.exp_avg_sq();
  item.t = state.step();
}

/// Writes down how many updates the item has had.
inline void count(AdamWParamState& state, const step::Item& item) {
  if (item.first_moment.defined() && state.exp_avg().is_same(item.first_moment)) state.step(item.t);
}

inline std::vector<at::Tensor> tensors_of(const AdamWParamState& state) {
  return {state.exp_avg(), state.exp_avg_sq()};
}

// ---- what ProxSGD keeps
// -------------------------------------------------------------------------------------

inline void find(ProxSGDParamState& state, step::Item& item) {
  step::ensure_moment(state.momentum_buffer(), item.parameter);
  item.first_moment = state.momentum_buffer();
}

inline void count(ProxSGDParamState&, const step::Item&) {}  // it does not count them

inline std::vector<at::Tensor> tensors_of(const ProxSGDParamState& state) {
  return {state.momentum_buffer()};
}

}  // namespace sadam::optim
