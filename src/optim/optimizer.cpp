#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <sadam/optimizer.h>
#include <torch/nn/module.h>

#include <cmath>
#include <limits>
#include <unordered_set>

#include "../kernels/kernels.h"
#include "../probe/loss.h"
#include "../probe/parameters.h"
#include "before_step.h"
#include "device_work.h"

namespace sadam {

using torch::optim::OptimizerParamGroup;

Optimizer::Optimizer(std::vector<OptimizerParamGroup> groups,
                     std::unique_ptr<torch::optim::OptimizerOptions> defaults)
    // The groups join after they have been checked: torch's own checks abort with a stack trace.
    : torch::optim::Optimizer(std::vector<OptimizerParamGroup>{}, std::move(defaults)) {
  check_parameters(groups);
  for (const auto& group : groups) torch::optim::Optimizer::add_param_group(group);
}

void Optimizer::adopt(const torch::nn::Module& module) {
  for (const auto& entry : module.named_parameters())
    names_[entry.value().unsafeGetTensorImpl()] = entry.key();
  protect(module.buffers());
}

void Optimizer::protect(const std::vector<torch::Tensor>& buffers) {
  std::unordered_set<const void*> known;
  for (const auto& group : param_groups())
    for (const auto& parameter : group.params()) known.insert(parameter.unsafeGetTensorImpl());
  for (const auto& buffer : buffers)
    if (buffer.defined() && known.count(buffer.unsafeGetTensorImpl()) > 0)
      throw Error(
          "protect: one of the tensors is a parameter, which probes move and put back: pass buffers only.");
  for (const auto& buffer : buffers_) known.insert(buffer.unsafeGetTensorImpl());
  for (const auto& buffer : buffers)
    if (buffer.defined() && known.insert(buffer.unsafeGetTensorImpl()).second) buffers_.push_back(buffer);
}

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  auto groups = param_groups();
  groups.push_back(group);
  if (!group.has_options()) groups.back().set_options(defaults().clone());
  check_parameters(groups);
  check_options(groups.back().options(), "group " + std::to_string(groups.size() - 1) + ": ");
  torch::optim::Optimizer::add_param_group(groups.back());
}

torch::Tensor Optimizer::evaluate(const LossClosure& closure, optim::BeforeStep& before, const char* caller) {
  // Without gradients at the start, a gradient after the closure means that the closure itself called
  // backward.
  before.clear_gradients();
  try {
    // Torch's cache of weights that were cast does not notice that the last step changed them.
    at::autocast::clear_cache();
    const at::AutoGradMode with_gradients(true);
    auto loss = closure();
    probe::check_loss(loss, caller);
    for (const auto& group : param_groups())
      for (const auto& parameter : group.params())
        if (parameter.grad().defined())
          throw Error(std::string(caller) +
                      ": the closure called backward itself: let it return the loss and do nothing else, "
                      "the optimizer clears gradients and calls backward.");
    if (!loss.requires_grad())
      throw Error(
          std::string(caller) +
          ": the loss does not need gradients: compute it from parameters that require them, outside any "
          "no-grad guard.");
    before.forget_gradients();
    loss.backward();
    check_gradients();
    require_a_gradient(caller);
    return loss.detach();
  } catch (...) {
    before.restore();
    throw;
  }
}

bool Optimizer::start_step(const LossClosure& closure, const char* caller, torch::Tensor& loss) {
  check();
  if (!closure) {
    check_gradients();
    start_summary();
    return !skips_step();
  }
  optim::BeforeStep before(param_groups(), buffers_);
  loss = evaluate(closure, before, caller);
  start_summary();
  note_loss(probe::read_loss(loss).value);
  if (!skips_step()) return true;
  before.forward().restore_buffers();
  return false;
}

at::Device Optimizer::device() const {
  for (const auto& group : param_groups())
    for (const auto& parameter : group.params())
      if (parameter.defined()) return parameter.device();
  return at::kCPU;
}

optim::DeviceWork& Optimizer::device_work() {
  if (!device_work_) device_work_ = optim::make_device_work();
  return *device_work_;
}

const StepSummary& Optimizer::summary() const {
  if (device_work_) device_work_->refresh(summary_, totals_);
  return summary_;
}

const Totals& Optimizer::totals() const {
  if (device_work_) device_work_->refresh(summary_, totals_);
  return totals_;
}

void Optimizer::fetch_from_device() const {
  if (!device_work_) return;
  device_work_->refresh(summary_, totals_);
  device_work_->refresh_states(state());
}

void Optimizer::start_summary() {
  summary_ = StepSummary();
  summary_.step = totals_.steps;
  summary_.loss = std::numeric_limits<double>::quiet_NaN();
  summary_.group_lgi.assign(param_groups().size(), 0);
  summary_.group_brakes.assign(param_groups().size(), 1);
}

void Optimizer::note_loss(double loss) {
  summary_.loss = loss;
  summary_.non_finite_loss = std::isfinite(loss) ? 0 : 1;
}

bool Optimizer::skips_step() {
  summary_.non_finite_gradient = count_non_finite_gradients<float>() + count_non_finite_gradients<double>();
  summary_.skipped = summary_.non_finite_loss > 0 || summary_.non_finite_gradient > 0;
  if (summary_.skipped) ++totals_.skipped;
  return summary_.skipped;
}

template <class T>
std::int64_t Optimizer::count_non_finite_gradients() const {
  kernels::CountNonFinite<T> launch;
  launch.threads = at::get_num_threads();
  std::vector<at::Tensor> gradients;  // keeps copies of scattered ones alive
  for (const auto& group : param_groups())
    for (const auto& parameter : group.params()) {
      if (!is_trained(parameter) || parameter.scalar_type() != c10::CppTypeToScalarType<T>::value) continue;
      const auto& gradient = parameter.grad();
      gradients.push_back(probe::is_block(gradient) ? gradient : gradient.contiguous());
      launch.segments.push_back({gradients.back().template data_ptr<T>(), gradient.numel()});
    }
  return launch.segments.empty() ? 0 : kernels::count_non_finite(launch);
}

}  // namespace sadam
