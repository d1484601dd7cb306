#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <sadam/prox_sgd.h>
#include <torch/nn/module.h>

#include "../kernels/kernels.h"
#include "archive.h"
#include "block.h"
#include "checks.h"
#include "device_work.h"
#include "state.h"

namespace sadam {

using torch::optim::OptimizerParamGroup;
using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

// ---- options and state ------------------------------------------------------------------------------------

ProxSGDOptions::ProxSGDOptions(double lr) : lr_(lr) {}

void ProxSGDOptions::serialize(InputArchive& archive) {
  lr(optim::read_value(archive, "lr").toDouble());
  momentum(optim::read_value(archive, "momentum").toDouble());
  l1(optim::read_value(archive, "l1").toDouble());
}

void ProxSGDOptions::serialize(OutputArchive& archive) const {
  archive.write("lr", c10::IValue(lr()));
  archive.write("momentum", c10::IValue(momentum()));
  archive.write("l1", c10::IValue(l1()));
}

bool operator==(const ProxSGDOptions& lhs, const ProxSGDOptions& rhs) {
  return lhs.lr() == rhs.lr() && lhs.momentum() == rhs.momentum() && lhs.l1() == rhs.l1();
}

double ProxSGDOptions::get_lr() const { return lr(); }
void ProxSGDOptions::set_lr(const double new_lr) { lr(new_lr); }

void ProxSGDParamState::serialize(InputArchive& archive) {
  momentum_buffer(optim::read_value(archive, "momentum_buffer").toTensor());
}

void ProxSGDParamState::serialize(OutputArchive& archive) const {
  archive.write("momentum_buffer", c10::IValue(momentum_buffer()));
}

bool operator==(const ProxSGDParamState& lhs, const ProxSGDParamState& rhs) {
  return torch::equal(lhs.momentum_buffer(), rhs.momentum_buffer());
}

// ---- the optimizer ----------------------------------------------------------------------------------------

namespace {

struct Entry {
  at::Tensor parameter;
  at::Tensor gradient;
  at::Tensor buffer;
  const ProxSGDOptions* options;
};

template <class T>
void update(const std::vector<Entry>& entries) {
  kernels::ProxSgdUpdate<T> launch;
  launch.threads = at::get_num_threads();
  std::vector<optim::Block> blocks;
  for (const auto& entry : entries) {
    if (entry.parameter.scalar_type() != c10::CppTypeToScalarType<T>::value) continue;
    blocks.emplace_back(entry.parameter);
    launch.segments.push_back({blocks.back().data<T>(), entry.buffer.data_ptr<T>(),
                               entry.gradient.data_ptr<T>(), entry.parameter.numel(),
                               entry.options->momentum(), entry.options->lr(),
                               entry.options->lr() * entry.options->l1()});
  }
  if (launch.segments.empty()) return;
  kernels::prox_sgd_update(launch);
  for (auto& block : blocks) block.written();
}

}  // namespace

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
  if (is_on_device()) {
    check();
    return device_work().step(*this, closure, "ProxSGD::step");
  }
  torch::Tensor loss;
  if (!start_step(closure, "ProxSGD::step", loss)) return loss;
  const at::NoGradGuard no_grad;
  std::vector<Entry> entries;
  for (auto& group : param_groups()) {
    const auto& options = static_cast<const ProxSGDOptions&>(group.options());
    for (auto& parameter : group.params()) {
      if (!is_trained(parameter)) continue;
      auto& buffer = optim::state_of<ProxSGDParamState>(state(), parameter).momentum_buffer();
      optim::ensure_moment(buffer, parameter);
      entries.push_back({parameter, probe::laid_out_like(parameter.grad(), parameter), buffer, &options});
    }
  }
  update<float>(entries);
  update<double>(entries);
  at::autocast::clear_cache();  // it holds casts of the weights as they were
  ++totals_.steps;
  return loss;
}

void ProxSGD::save(OutputArchive& archive) const {
  fetch_from_device();
  optim::save_state(archive, *this, "ProxSGD");
}

void ProxSGD::load(InputArchive& archive) {
  const optim::Factories factories{
      "ProxSGD", [] { return std::make_unique<ProxSGDOptions>(); },
      [] { return std::make_unique<ProxSGDParamState>(); },
      [](const torch::optim::OptimizerParamState& state) -> std::vector<torch::Tensor> {
        return {static_cast<const ProxSGDParamState&>(state).momentum_buffer()};
      }};
  auto loaded = optim::load_state(archive, *this, factories);
  for (const auto& options : loaded.options) check_options(*options, "load: ");
  totals_ = loaded.totals;
  defaults_ = std::move(loaded.defaults);
  forget_device();
  optim::commit_state(std::move(loaded), param_groups(), state());
}

}  // namespace sadam
