// The C++ optimizers, told by Python what to train: its groups and states are the truth, and are read before
// each step. Options, checks, steps and files are the C++ front end's.
#pragma once

#include <ATen/core/grad_mode.h>
#include <sadam/adamw.h>
#include <sadam/prox_sgd.h>
#include <sadam/s_adam.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "callbacks.h"
#include "optim/state.h"
#include "options.h"
#include "step/engine.h"

namespace sadam::python {

// ---- states as Python's dictionaries ----

template <class Visit>
void visit_tensors(AdamWParamState& state, const Visit& visit) {
  visit("exp_avg", state.exp_avg());
  visit("exp_avg_sq", state.exp_avg_sq());
}
template <class Visit>
void visit_tensors(ProxSGDParamState& state, const Visit& visit) {
  visit("momentum_buffer", state.momentum_buffer());
}

inline void take_count(py::handle dictionary, AdamWParamState& state) {
  if (auto* const given = PyDict_GetItemString(dictionary.ptr(), "step")) {
    std::int64_t count = state.step();
    take_value("step", given, count);
    if (count < 0)
      throw Error("the state of a parameter has step " + std::to_string(count) +
                  ": it counts updates and must be 0 or more.");
    state.step(count);
  }
}
inline void take_count(py::handle, ProxSGDParamState&) {}

inline void give_count(py::dict& dictionary, const AdamWParamState& state) {
  dictionary["step"] = state.step();
}
inline void give_count(py::dict&, const ProxSGDParamState&) {}

inline bool holds(py::handle dictionary, const char* name, const at::Tensor& tensor) {
  auto* const held = PyDict_GetItemString(dictionary.ptr(), name);
  return held != nullptr && THPVariable_Check(held) && THPVariable_Unpack(held).is_same(tensor);
}

// ---- what happened ----

inline py::dict dictionary_of(const StepSummary& summary) {
  using py::literals::operator""_a;
  return py::dict("step"_a = summary.step, "loss"_a = summary.loss, "probed"_a = summary.probed,
                  "differences"_a = py::tuple(py::cast(summary.differences)),
                  "slopes"_a = py::tuple(py::cast(summary.slopes)), "lgi"_a = summary.lgi,
                  "brake"_a = summary.brake, "group_lgi"_a = py::tuple(py::cast(summary.group_lgi)),
                  "group_brakes"_a = py::tuple(py::cast(summary.group_brakes)),
                  "probe_seconds"_a = summary.probe_seconds, "within_noise"_a = summary.within_noise,
                  "skipped"_a = summary.skipped, "non_finite_loss"_a = summary.non_finite_loss,
                  "non_finite_gradient"_a = summary.non_finite_gradient,
                  "non_finite_probes"_a = summary.non_finite_probes);
}

inline py::dict dictionary_of(const Totals& totals) {
  using py::literals::operator""_a;
  return py::dict("steps"_a = totals.steps, "skipped"_a = totals.skipped,
                  "non_finite_probes"_a = totals.non_finite_probes);
}

using Names = std::vector<std::pair<std::string, at::Tensor>>;

/// What captured steps ask of an optimizer.
class Stepper {
 public:
  virtual ~Stepper() = default;
  virtual step::Engine& the_engine() = 0;
  virtual step::Problem the_problem() = 0;
  virtual void finish_step() = 0;
};

/// One of the C++ optimizers, with what Python needs of it.
template <class Base, class Options, class State>
class Core : public Stepper, public Base {
 public:
  /// `names` are of parameters, for messages.
  Core(const py::list& groups, const py::dict& defaults, const py::object& source, const Names& names)
      : Base(groups_from(groups, names), options_from(defaults, source)) {
    for (const auto& [name, parameter] : names) this->set_name(parameter, name);
  }

  step::Engine& the_engine() override { return this->engine(); }
  step::Problem the_problem() override { return this->problem(); }
  void finish_step() override { this->after_step(); }

  /// These buffers and no others: modules put new ones in their place when they are moved. Cheap when they
  /// are those of the last call.
  void protect_these(const std::vector<at::Tensor>& buffers) {
    const auto is_same = [](const at::Tensor& a, const at::Tensor& b) { return a.is_same(b); };
    if (std::equal(buffers.begin(), buffers.end(), protected_.begin(), protected_.end(), is_same)) return;
    this->protect_only(buffers);
    protected_ = buffers;
  }

  /// After a `begin` whose step failed.
  void give_up() { this->engine().give_up(this->problem()); }

  /// Takes groups, options and states as Python has them now.
  void sync(const py::list& groups, const py::dict& defaults, const py::object& source,
            const py::dict& states) {
    this->defaults_ = std::make_unique<Options>(options_from(defaults, source));
    take_groups(groups);
    this->check();
    take_states(groups, states);
  }

  /// Takes the states as Python has them now.
  void take_states(const py::list& groups, const py::dict& states) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto parameters = parameters_of(groups[g]);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const py::object parameter = parameters[i];
        const auto& tensor = THPVariable_Unpack(parameter.ptr());
        auto* const entry = PyDict_GetItem(states.ptr(), parameter.ptr());
        if (entry == nullptr || PyDict_Check(entry) == 0 || PyDict_Size(entry) == 0) {
          this->state().erase(optim::state_key(tensor));
          continue;
        }
        auto& state = optim::state_of<State>(this->state(), tensor);
        take_count(entry, state);
        visit_tensors(state, [&](const char* name, at::Tensor& moment) {
          if (holds(entry, name, moment)) return;
          auto* const given = PyDict_GetItemString(entry, name);
          if (given == nullptr || !THPVariable_Check(given))
            throw Error("the state of " + place(g, i) + " has no tensor '" + name +
                        "': load one that was saved by the same optimizer.");
          const auto& new_moment = THPVariable_Unpack(given);
          if (new_moment.sizes() != tensor.sizes())
            throw Error("the state '" + std::string(name) + "' of " + place(g, i) +
                        " has another shape than the parameter: load one that was saved for the same model.");
          moment = new_moment;
        });
      }
    }
  }

  /// Gives Python the states as they are now. The counts of updates are on the GPU until somebody waits.
  void give_states(const py::list& groups, py::dict& states, bool wait) {
    if (wait) this->fetch_states();
    for (const auto& group : groups)
      for (const auto& parameter : parameters_of(group)) {
        auto* const state = optim::state_if_any<State>(this->state(), THPVariable_Unpack(parameter.ptr()));
        if (state == nullptr) continue;
        auto entry = py::reinterpret_borrow<py::object>(PyDict_GetItem(states.ptr(), parameter.ptr()));
        if (!entry) states[parameter] = entry = py::dict();
        auto dictionary = py::reinterpret_borrow<py::dict>(entry);
        give_count(dictionary, *state);
        visit_tensors(*state, [&](const char* name, const at::Tensor& tensor) {
          if (!holds(dictionary, name, tensor)) dictionary[name] = tensor;
        });
      }
  }

  /// Takes what a state of Python's has beside groups and states.
  void restore_memory(const py::dict& totals, const std::vector<double>& lgi,
                      const std::vector<double>& brakes) {
    Totals counted;
    counted.steps = totals["steps"].cast<std::int64_t>();
    counted.skipped = totals["skipped"].cast<std::int64_t>();
    counted.non_finite_probes = totals["non_finite_probes"].cast<std::int64_t>();
    std::vector<kernels::GroupMemory> memory;
    for (std::size_t g = 0; g < lgi.size(); ++g) memory.push_back({lgi[g], brakes[g]});
    this->restore(counted, std::move(memory));
  }

  /// ρ and the held brake of each group.
  std::pair<std::vector<double>, std::vector<double>> known_memory() {
    std::pair<std::vector<double>, std::vector<double>> known;
    if constexpr (requires { this->memory(); })
      for (const auto& of_group : this->memory()) {
        known.first.push_back(of_group.lgi);
        known.second.push_back(of_group.brake);
      }
    return known;
  }

  py::list group_options() const {
    py::list list;
    for (const auto& group : this->param_groups())
      list.append(dictionary_of(static_cast<const Options&>(group.options())));
    return list;
  }
  py::dict whole_options() const { return dictionary_of(this->whole()); }

  /// A closure that is refused if it touches the gradients. (At the base evaluation the engine looks itself,
  /// but knows another way out.)
  Closure watched(Closure closure) const {
    return [this, closure = std::move(closure)] {
      const auto before = versions_of_gradients();
      auto loss = closure();
      if (versions_of_gradients() == before) return loss;
      if (at::GradMode::is_enabled())
        throw Error(
            std::string("the closure called backward itself: let it return the loss and do nothing else; or, "
                        "if it is not yours, ") +
            (std::is_same_v<Base, SAdam> ? "give the loss apart, as loss_fn." : "call it, and then step()."));
      throw Error(
          "the closure changed the gradients while it was evaluated at a probe: let it return the loss and "
          "do nothing else.");
    };
  }
  std::vector<Closure> watched(std::vector<Closure> closures) const {
    for (auto& closure : closures) closure = watched(std::move(closure));
    return closures;
  }

 private:
  static py::list parameters_of(py::handle group) {
    return py::reinterpret_borrow<py::list>(PyDict_GetItemString(group.ptr(), "params"));
  }
  static Options options_from(py::handle dictionary, const py::object& source = py::none()) {
    Options options;
    take_options(dictionary, options);
    set_source(options, source);
    return options;
  }
  static std::vector<torch::optim::OptimizerParamGroup> groups_from(const py::list& groups,
                                                                    const Names& names = {}) {
    for (const auto& [name, parameter] : names) Base::check_parameter(name, parameter);
    std::vector<torch::optim::OptimizerParamGroup> converted;
    for (const auto& group : groups) converted.push_back(group_from(group));
    return converted;
  }
  static torch::optim::OptimizerParamGroup group_from(py::handle group) {
    std::vector<at::Tensor> parameters;
    for (const auto& parameter : parameters_of(group))
      parameters.push_back(THPVariable_Unpack(parameter.ptr()));
    return {parameters, std::make_unique<Options>(options_from(group))};
  }

  void take_groups(const py::list& groups) {
    auto& known = this->param_groups();
    bool same = known.size() == groups.size();
    for (std::size_t g = 0; same && g < known.size(); ++g) {
      const auto parameters = parameters_of(groups[g]);
      same = parameters.size() == known[g].params().size();
      for (std::size_t i = 0; same && i < parameters.size(); ++i)
        same = THPVariable_Unpack(py::handle(parameters[i]).ptr()).is_same(known[g].params()[i]);
    }
    if (!same) {
      auto converted = groups_from(groups);
      known.clear();
      for (auto& group : converted) known.push_back(group);
      return;
    }
    for (std::size_t g = 0; g < known.size(); ++g)
      static_cast<Options&>(known[g].options()) = options_from(groups[g]);
  }

  static std::string place(std::size_t group, std::size_t index) {
    return "parameter " + std::to_string(index) + " of group " + std::to_string(group);
  }

  static void set_source(Options& options, const py::object& source) {
    if constexpr (requires { options.source(); })
      if (!source.is_none()) options.source(source_from(source));
  }

  using Versions = std::vector<std::pair<const void*, std::uint32_t>>;
  Versions versions_of_gradients() const {
    Versions versions;
    for (const auto& group : this->param_groups())
      for (const auto& parameter : group.params())
        if (const auto& gradient = parameter.grad(); gradient.defined())
          versions.emplace_back(gradient.unsafeGetTensorImpl(),
                                gradient.unsafeGetTensorImpl()->version_counter().current_version());
    return versions;
  }

  std::vector<at::Tensor> protected_;
};

}  // namespace sadam::python
