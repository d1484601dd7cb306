// How optimizers are written and read: one format for SAdam, AdamW and ProxSGD, the same under every
// libtorch.
//
// Parameters are known by their place (group, index), not by an address, so a state saved by one process and
// one version of libtorch loads in another. Everything is read and checked before anything is changed.
#pragma once

#include <sadam/optimizer.h>
#include <torch/serialize/archive.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state.h"

namespace sadam::optim {

/// The format this library writes. It reads this one and older ones.
inline constexpr std::int64_t kFormat = 1;

/// A state as read from an archive, not yet part of any optimizer.
struct LoadedState {
  std::unique_ptr<torch::optim::OptimizerOptions> defaults;
  std::vector<std::unique_ptr<torch::optim::OptimizerOptions>> options;                 // of each group
  std::vector<std::vector<std::unique_ptr<torch::optim::OptimizerParamState>>> states;  // null: none yet
  Totals totals;
};

/// Options and ParamState of the optimizer that an archive belongs to, made empty.
struct Factories {
  std::string name;  ///< "SAdam"
  std::function<std::unique_ptr<torch::optim::OptimizerOptions>()> options;
  std::function<std::unique_ptr<torch::optim::OptimizerParamState>()> state;
  /// The tensors of a state, which must have the parameter's shape.
  std::function<std::vector<torch::Tensor>(const torch::optim::OptimizerParamState&)> tensors;
};

void save_state(torch::serialize::OutputArchive& archive, const Optimizer& optimizer,
                const std::string& name);

/// Reads and checks; throws a sentence if the archive does not fit the optimizer.
LoadedState load_state(torch::serialize::InputArchive& archive, const Optimizer& optimizer,
                       const Factories& factories);

/// Puts what was loaded in place. Does not fail.
void commit_state(LoadedState loaded, std::vector<torch::optim::OptimizerParamGroup>& groups,
                  StateMap& states);

/// Reads one value, or throws a sentence that names what is missing.
c10::IValue read_value(torch::serialize::InputArchive& archive, const std::string& key);

}  // namespace sadam::optim
