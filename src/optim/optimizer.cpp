#include <ATen/MemoryOverlap.h>
#include <sadam/optimizer.h>
#include <torch/nn/module.h>

#include <unordered_set>
#include <utility>

#include "optim/options.h"
#include "optim/state.h"
#include "step/archive.h"
#include "step/engine.h"

namespace sadam {

using torch::optim::OptimizerParamGroup;
using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

Optimizer::Optimizer(std::vector<OptimizerParamGroup> groups,
                     std::unique_ptr<torch::optim::OptimizerOptions> defaults)
    // The groups join after they have been checked: torch's own checks abort with a stack trace.
    : torch::optim::Optimizer(std::vector<OptimizerParamGroup>{}, std::move(defaults)),
      engine_(std::make_unique<step::Engine>()) {
  check_parameters(groups);
  for (const auto& group : groups) torch::optim::Optimizer::add_param_group(group);
}

Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

step::Engine& Optimizer::engine() const {
  if (!engine_) throw Error("this optimizer was moved from: use the one that it was moved to.");
  return *engine_;
}

void Optimizer::adopt(const torch::nn::Module& module) {
  for (const auto& entry : module.named_parameters()) set_name(entry.value(), entry.key());
  protect(module.buffers());
}

void Optimizer::set_name(const torch::Tensor& parameter, const std::string& name) {
  names_[parameter.unsafeGetTensorImpl()] = name;
}

void Optimizer::protect(const std::vector<torch::Tensor>& buffers) {
  std::unordered_set<const void*> known;
  for (const auto& group : param_groups())
    for (const auto& parameter : group.params()) known.insert(parameter.unsafeGetTensorImpl());
  const auto overlaps_a_parameter = [&](const torch::Tensor& buffer) {
    for (const auto& group : param_groups())
      for (const auto& parameter : group.params())
        if (buffer.layout() == torch::kStrided && buffer.is_alias_of(parameter)) {
          const auto status =
              at::get_overlap_status(buffer.unsafeGetTensorImpl(), parameter.unsafeGetTensorImpl());
          if (status == at::MemOverlapStatus::Full || status == at::MemOverlapStatus::Partial) return true;
        }
    return false;
  };
  for (const auto& buffer : buffers) {
    if (!buffer.defined())
      throw Error("protect: one of the tensors is undefined, so there is nothing to protect: pass buffers.");
    if (known.count(buffer.unsafeGetTensorImpl()) > 0 || overlaps_a_parameter(buffer))
      throw Error(
          "protect: one of the tensors is a parameter, or a view of one, which probes show elsewhere: pass "
          "buffers only.");
  }
  for (const auto& buffer : buffers_) known.insert(buffer.unsafeGetTensorImpl());
  for (const auto& buffer : buffers)
    if (known.insert(buffer.unsafeGetTensorImpl()).second) buffers_.push_back(buffer);
}

void Optimizer::protect_only(const std::vector<torch::Tensor>& buffers) {
  auto before = std::exchange(buffers_, {});
  try {
    protect(buffers);
  } catch (const Error&) {
    buffers_ = std::move(before);
    throw;
  }
}

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  auto groups = param_groups();
  groups.push_back(group);
  if (!group.has_options()) groups.back().set_options(defaults().clone());
  check_parameters(groups);
  check_options(groups.back().options(), "group " + std::to_string(groups.size() - 1) + ": ");
  torch::optim::Optimizer::add_param_group(groups.back());
}

void Optimizer::zero_grad(bool set_to_none) {
  for (auto& group : param_groups())
    for (auto& parameter : group.params()) {
      if (set_to_none)
        parameter.mutable_grad().reset();
      else if (parameter.grad().defined())
        parameter.mutable_grad() = torch::zeros_like(parameter.grad());
    }
}

// ---- steps ------------------------------------------------------------------------------------------------

step::Problem Optimizer::problem() {
  check();
  step::Problem problem;
  std::uint64_t first = 0;
  for (std::size_t g = 0; g < param_groups().size(); ++g) {
    const auto& parameters = param_groups()[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      problem.parameters.push_back(parameters[i]);
      if (!parameters[i].requires_grad()) continue;
      auto& item = problem.items.emplace_back();
      item.parameter = parameters[i];
      item.group = static_cast<std::int64_t>(g);
      item.index = static_cast<std::int64_t>(i);
      item.first = first;
      first += static_cast<std::uint64_t>(parameters[i].numel());
    }
  }
  problem.buffers = buffers_;
  problem.find_state = [this](step::Item& item) { find_state(item); };
  problem.set_updates = [this](const step::Item& item) { set_updates(item); };
  problem.name_of = [this](const step::Item& item) {
    return name_of(static_cast<std::size_t>(item.group), static_cast<std::size_t>(item.index));
  };
  describe(problem);
  return problem;
}

torch::Tensor Optimizer::run(const step::Request& request) {
  const auto what = problem();
  torch::Tensor loss;
  try {
    loss = engine().step(what, request);
  } catch (...) {
    if (what.parameters.front().is_cpu()) fetch_states();  // earlier groups may have been updated
    throw;
  }
  after_step();
  return loss;
}

torch::Tensor Optimizer::step(LossClosure closure) {
  step::Request request;
  request.caller = std::string(name()) + "::step";
  if (closure) request.parts = {std::move(closure)};
  return run(request);
}

torch::Tensor Optimizer::step(const StepRequest& request) {
  step::Request wanted;
  wanted.caller = name();
  wanted.parts = request.parts;
  wanted.probe_parts = request.probe_parts;
  wanted.before_update = request.before_update;
  wanted.examples = request.examples;
  if (request.examples < 0)
    throw Error(std::string(name()) + "::step: the number of examples is negative: give 0 or more.");
  if (request.parts.empty())
    throw Error(std::string(name()) +
                "::step: the request has no parts: give it closures that return the loss.");
  for (const auto* const parts : {&request.parts, &request.probe_parts})
    for (const auto& part : *parts)
      if (!part)
        throw Error(std::string(name()) + "::step: a part of the loss is no function: pass closures.");
  if (request.brake) {
    optim::check_brake(*request.brake, std::string(name()) + "::step: ");
    wanted.brakes.assign(param_groups().size(), *request.brake);
  }
  return run(wanted);
}

void Optimizer::join(std::shared_ptr<ProcessGroup> group, const GroupOptions& options) {
  engine().ranks().join(std::move(group), options);
}

void Optimizer::average_gradients() { engine().average_gradients(problem()); }

void Optimizer::after_step() const {
  for (const auto& group : param_groups())
    for (const auto& parameter : group.params()) {
      if (!parameter.is_cpu()) return;  // when somebody asks
      fetch_states();
      warn_of_skips(engine().totals().skipped);
      return;
    }
}

void Optimizer::fetch_states() const {
  for (const auto& item : engine().updated_items()) const_cast<Optimizer*>(this)->set_updates(item);
}

// ---- what happened ----------------------------------------------------------------------------------------

const StepSummary& Optimizer::summary() const {
  warn_of_skips(engine().totals().skipped);
  return engine().summary();
}

const Totals& Optimizer::totals() const {
  warn_of_skips(engine().totals().skipped);
  return engine().totals();
}

std::vector<StepSummary> Optimizer::take_summaries() {
  warn_of_skips(engine().totals().skipped);
  return engine().take_summaries();
}

void Optimizer::warn_of_skips(std::int64_t skipped) const {
  if (skipped < next_warning_) return;
  while (next_warning_ <= skipped) next_warning_ *= 10;
  TORCH_WARN(
      "sadam: ", skipped, skipped == 1 ? " step was" : " steps were",
      " skipped so far, because the loss or a gradient was not finite; nothing has changed in them. See the "
      "summary, and try a smaller learning rate.");
}

// ---- files ------------------------------------------------------------------------------------------------

void Optimizer::save(OutputArchive& archive) const {
  fetch_states();
  step::SavedState saved;
  saved.optimizer = name();
  saved.totals = totals();
  saved.defaults = [&](OutputArchive& to) { defaults().serialize(to); };
  for (const auto& group : param_groups()) {
    auto& saved_group = saved.groups.emplace_back();
    saved_group.options = [&group](OutputArchive& to) { group.options().serialize(to); };
    for (const auto& parameter : group.params()) {
      const auto* const state =
          optim::state_if_any<torch::optim::OptimizerParamState>(this->state(), parameter);
      auto& saved_parameter = saved_group.parameters.emplace_back();
      saved_parameter.parameter = parameter;
      if (state != nullptr) saved_parameter.state = [state](OutputArchive& to) { state->serialize(to); };
    }
  }
  step::save_state(archive, saved);
}

void Optimizer::load(InputArchive& archive) {
  engine().refuse_if_busy();
  // Everything is read and checked before anything is changed.
  auto new_defaults = defaults().clone();
  std::vector<std::unique_ptr<torch::optim::OptimizerOptions>> options;
  std::vector<std::vector<std::unique_ptr<torch::optim::OptimizerParamState>>> states;
  step::StateReader reader;
  reader.optimizer = name();
  reader.defaults = [&](InputArchive& from) { new_defaults->serialize(from); };
  for (const auto& group : param_groups()) reader.parameters.push_back(group.params());
  reader.options = [&](InputArchive& from) {
    options.push_back(defaults().clone());
    options.back()->serialize(from);
    states.emplace_back();
  };
  reader.state = [&](InputArchive* from) -> std::vector<at::Tensor> {
    auto& state = states.back().emplace_back();
    if (from == nullptr) return {};
    state = make_state();
    state->serialize(*from);
    return tensors_of(*state);
  };
  const auto totals = step::load_state(archive, reader);
  auto memory = accept(archive, *new_defaults, options);

  defaults_ = std::move(new_defaults);
  state().clear();
  for (std::size_t g = 0; g < param_groups().size(); ++g) {
    param_groups()[g].set_options(std::move(options[g]));
    for (std::size_t i = 0; i < param_groups()[g].params().size(); ++i)
      if (states[g][i]) state()[optim::state_key(param_groups()[g].params()[i])] = std::move(states[g][i]);
  }
  restore(totals, std::move(memory));
}

void Optimizer::restore(const Totals& totals, std::vector<kernels::GroupMemory> memory) {
  engine().restore(totals, std::move(memory));
  next_warning_ = 1;
  while (next_warning_ <= totals.skipped) next_warning_ *= 10;
}

}  // namespace sadam
