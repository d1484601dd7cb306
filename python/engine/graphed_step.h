// Captured steps for Python: what `GraphedStep` is for C++, with the module's side told by Python.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "callbacks.h"
#include "optim/options.h"
#include "optimizer.h"
#include "step/graph.h"

namespace sadam::python {

class Graphed {
 public:
  Graphed(Stepper& optimizer, py::object loss, py::object probe_loss, const py::object& streams,
          const py::object& replica_memory, const py::object& capture)
      : optimizer_(optimizer) {
    settings_.engine = &optimizer.the_engine();
    settings_.loss = loss_from(std::move(loss));
    if (!probe_loss.is_none()) settings_.probe_loss = loss_from(std::move(probe_loss));
    take_value("streams", streams, settings_.streams);
    take_value("replica_memory", replica_memory, settings_.copy_memory);
    take_value("capture", capture, settings_.capture);
  }

  /// `modes` are those of the modules, training or not; `weights` all that the loss may read; `together`:
  /// with other processes, whose sums over torch.distributed's groups are not captured.
  at::Tensor step(const step::Inputs& inputs, std::optional<double> brake, const std::vector<bool>& modes,
                  const std::vector<at::Tensor>& weights, bool together) {
    if (brake) optim::check_brake(*brake, "GraphedStep: ");
    const auto problem = optimizer_.the_problem();
    const auto device = problem.parameters.front().device();
    if (device != settings_.device || together) graphs_.reset();  // the model was moved, or has company
    settings_.device = device;
    together_ = together;
    if (!device.is_cpu() && !together && !graphs_) graphs_ = step::make_graphs(settings_);
    step::GraphStep asked{problem, inputs, step::examples_in(inputs, settings_), {}, modes, {}};
    if (brake) asked.brakes.assign(problem.rules.size(), *brake);
    if (!graphs_) {
      const auto loss = step::eager_step(settings_, asked);
      optimizer_.finish_step();
      return loss;
    }
    for (const auto& tensor : weights)
      if (tensor.device() != device)
        throw Error("GraphedStep: a parameter of the module is on " + tensor.device().str() +
                    " and the optimizer's are on " + device.str() + ": move the whole module to one device.");
    std::unordered_set<const void*> known;
    for (const auto& buffer : problem.buffers) known.insert(buffer.unsafeGetTensorImpl());
    for (const auto* const tensors : {&weights, &problem.parameters})
      for (const auto& tensor : *tensors)
        if (known.insert(tensor.unsafeGetTensorImpl()).second) asked.weights.push_back(tensor);
    return graphs_->step(asked);
  }

  bool is_captured() const { return graphs_ && graphs_->captured; }
  std::string why_not() const {
    if (graphs_) return graphs_->why_not;
    const bool on_gpu = !settings_.device.is_cpu();
    return together_ && on_gpu ? "several processes take the step together" : "the parameters are on the CPU";
  }
  std::int64_t streams() const { return graphs_ ? graphs_->streams : 0; }

 private:
  static std::function<at::Tensor(const step::Inputs&)> loss_from(py::object function) {
    return [held = shared(std::move(function))](const step::Inputs& inputs) {
      const py::gil_scoped_acquire lock;
      py::tuple arguments(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i) arguments[i] = py::cast(inputs[i]);
      return tensor_from((*held)(*arguments), "the loss function");
    };
  }

  Stepper& optimizer_;
  step::GraphSettings settings_;
  std::unique_ptr<step::Graphs> graphs_;  // null on the CPU, and with other processes
  bool together_ = false;
};

inline void bind_graphed_step(py::module_& module) {
  py::class_<Graphed>(module, "GraphedStep")
      .def(py::init([](Stepper& optimizer, const py::object& loss, const py::object& probe_loss,
                       const py::object& streams, const py::object& replica_memory,
                       const py::object& capture) {
             return guarded([&] {
               return std::make_unique<Graphed>(optimizer, loss, probe_loss, streams, replica_memory,
                                                capture);
             });
           }),
           py::keep_alive<1, 2>())
      .def("step",
           [](Graphed& self, const step::Inputs& inputs, const py::object& given_brake,
              const std::vector<bool>& modes, const std::vector<at::Tensor>& weights, bool together) {
             const auto brake = number_from("brake", given_brake);
             return unlocked([&] { return self.step(inputs, brake, modes, weights, together); });
           })
      .def("is_captured", &Graphed::is_captured)
      .def("why_not", &Graphed::why_not)
      .def("streams", &Graphed::streams);
}

}  // namespace sadam::python
