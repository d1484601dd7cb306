// `sadam._engine`: what the Python package is built on.
#include <sadam/adamw.h>
#include <sadam/prox_sgd.h>
#include <sadam/s_adam.h>
#include <sadam/version.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/serialize.h>

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "callbacks.h"
#include "graphed_step.h"
#include "optimizer.h"
#include "options.h"
#include "probe_model.h"
#include "process_group.h"

namespace sadam::python {
namespace {

template <class Base, class Options, class State>
auto bind(py::module_& module, const char* name) {
  using Bound = Core<Base, Options, State>;
  py::class_<Bound, Stepper> bound(module, name, py::multiple_inheritance());
  bound.def(py::init(
      [](const py::list& groups, const py::dict& defaults, const py::object& source, const Names& names) {
        return guarded([&] { return std::make_unique<Bound>(groups, defaults, source, names); });
      }));
  bound.def_static("list_options", &list_options<Options>);
  bound.def("sync",
            [](Bound& self, const py::list& groups, const py::dict& defaults, const py::object& source,
               const py::dict& states) { guarded([&] { self.sync(groups, defaults, source, states); }); });
  bound.def("take_states", [](Bound& self, const py::list& groups, const py::dict& states) {
    guarded([&] { self.take_states(groups, states); });
  });
  bound.def("give_states", [](Bound& self, const py::list& groups, py::dict& states, bool wait) {
    guarded([&] { self.give_states(groups, states, wait); });
  });
  bound.def("group_options", &Bound::group_options);
  bound.def("whole_options", &Bound::whole_options);
  bound.def("protect", [](Bound& self, const std::vector<at::Tensor>& buffers) {
    guarded([&] { self.protect_these(buffers); });
  });

  bound.def("step",
            [](Bound& self, const std::vector<py::object>& parts, const std::vector<py::object>& probe_parts,
               const py::object& before_update, const py::object& brake, const py::object& examples) {
              StepRequest request;
              request.brake = number_from("brake", brake);
              take_value("examples", examples, request.examples);
              request.parts = self.watched(closures_from(parts));
              request.probe_parts = self.watched(closures_from(probe_parts));
              request.before_update = hook_from(before_update);
              return unlocked([&] { return self.Optimizer::step(request); });
            });
  bound.def("join", [](Bound& self, const py::object& group, const py::object& split,
                       const py::object& check_ranks_every) {
    guarded([&] {
      const auto options = group_options_from(split, check_ranks_every);
      if (group.is_none()) return self.join(nullptr, options);
      self.join(group_from(group, self.the_problem().parameters.front().device()), options);
    });
  });
  bound.def("average_gradients", [](Bound& self) { unlocked([&] { self.average_gradients(); }); });
  bound.def("apply", [](Bound& self) { unlocked([&] { self.Optimizer::step(); }); });

  bound.def("summary", [](Bound& self) { return dictionary_of(unlocked([&] { return self.summary(); })); });
  bound.def("totals", [](Bound& self) { return dictionary_of(unlocked([&] { return self.totals(); })); });
  bound.def("take_summaries", [](Bound& self) {
    py::list list;
    for (const auto& summary : unlocked([&] { return self.take_summaries(); }))
      list.append(dictionary_of(summary));
    return list;
  });

  bound.def("memory", [](Bound& self) { return unlocked([&] { return self.known_memory(); }); });
  bound.def("restore", [](Bound& self, const py::dict& totals, const std::vector<double>& lgi,
                          const std::vector<double>& brakes) {
    guarded([&] { self.restore_memory(totals, lgi, brakes); });
  });
  bound.def("save", [](Bound& self, const std::string& path) {
    unlocked([&] {
      try {
        torch::save(static_cast<const torch::optim::Optimizer&>(self), path);
      } catch (const c10::Error&) {
        throw Error("'" + path + "' could not be written: name a file in a folder that is there.");
      }
    });
  });
  bound.def("load", [](Bound& self, const std::string& path) {
    unlocked([&] {
      const auto device = self.the_problem().parameters.front().device();
      try {
        torch::load(static_cast<torch::optim::Optimizer&>(self), path, device);
      } catch (const c10::Error&) {
        throw Error("'" + path + "' is no file that torch::save wrote: save an optimizer there first.");
      }
    });
  });
  return bound;
}

void bind_split_form(py::class_<Core<SAdam, SAdamOptions, SAdamParamState>, Stepper>& bound) {
  using Bound = Core<SAdam, SAdamOptions, SAdamParamState>;
  bound.def("begin", [](Bound& self) { unlocked([&] { self.begin(); }); });
  bound.def("probe",
            [](Bound& self, const std::vector<py::object>& parts, const std::optional<at::Tensor>& loss) {
              const auto closures = self.watched(closures_from(parts));
              const auto found = unlocked([&] { return self.probe(closures, loss.value_or(at::Tensor())); });
              return std::make_pair(found.lgi, found.per_group);
            });
  bound.def("give_up", [](Bound& self) { unlocked([&] { self.give_up(); }); });
  bound.def("apply_with", [](Bound& self, const std::vector<double>& brakes) {
    unlocked([&] { self.SAdam::step(Brakes{0, brakes}); });
  });
  bound.def_static("paper", [] { return dictionary_of(SAdamOptions::paper()); });
  bound.def_static("reference", [] { return dictionary_of(SAdamOptions::reference()); });
}

}  // namespace

PYBIND11_MODULE(_engine, module) {
  module.doc() = "The engine of sadam: use the classes of the package.";
  module.attr("version") = SADAM_VERSION;
  module.attr("with_cuda") = step::built_with_cuda();
  py::class_<DirectionRequest>(
      module, "DirectionRequest",
      "Asks for the direction of one parameter in one probe: step, group, probe, parameter, all from 0.")
      .def_readonly("step", &DirectionRequest::step)
      .def_readonly("group", &DirectionRequest::group)
      .def_readonly("probe", &DirectionRequest::probe)
      .def_readonly("parameter", &DirectionRequest::parameter);
  py::class_<Stepper>(module, "Stepper");
  bind<AdamW, AdamWOptions, AdamWParamState>(module, "AdamW")
      .def_static("adabound", [](double lr, double final_lr) {
        return dictionary_of(unlocked([&] { return AdamWOptions::adabound(lr, final_lr); }));
      });
  bind<ProxSGD, ProxSGDOptions, ProxSGDParamState>(module, "ProxSGD");
  auto s_adam = bind<SAdam, SAdamOptions, SAdamParamState>(module, "SAdam");
  bind_split_form(s_adam);
  bind_graphed_step(module);
  bind_probe_model(module);
}

}  // namespace sadam::python
