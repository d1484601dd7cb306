// One way to reach a parameter's state: torch keys it by a string in 1.13 and by a pointer in 2.x.
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <sstream>
#include <string>
#include <type_traits>

namespace sadam::optim {

using StateMap = std::decay_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;

template <class Key = StateMap::key_type>
Key state_key(const at::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream address;  // as torch 1.13 spells it
    address << parameter.unsafeGetTensorImpl();
    return address.str();
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

/// The state of a parameter, or null if it has none yet.
template <class State>
const State* find_state(const StateMap& states, const at::Tensor& parameter) {
  const auto found = states.find(state_key(parameter));
  return found == states.end() ? nullptr : static_cast<const State*>(found->second.get());
}

/// The state of a parameter, made if it has none yet.
template <class State>
State& state_of(StateMap& states, const at::Tensor& parameter) {
  auto& slot = states[state_key(parameter)];
  if (!slot) slot = std::make_unique<State>();
  return static_cast<State&>(*slot);
}

/// Makes sure that `tensor` is a moment of `parameter`: zero if it is new, laid out in memory like it
/// (contiguous where the parameter has gaps).
void ensure_moment(at::Tensor& tensor, const at::Tensor& parameter);

}  // namespace sadam::optim
