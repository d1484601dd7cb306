// `probe_model` for Python: numbers as dictionaries, and the report as text.
#pragma once

#include <sadam/probe_model.h>
#include <torch/csrc/utils/pybind.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "callbacks.h"
#include "options.h"

namespace sadam::python {

inline py::dict dictionary_of(const Signature& signature) {
  using py::literals::operator""_a;
  return py::dict("power"_a = signature.power, "error"_a = signature.error, "start"_a = signature.from,
                  "end"_a = signature.to, "smoothness"_a = to_string(signature.smoothness));
}

inline py::dict dictionary_of(const ModelProbe& found) {
  using py::literals::operator""_a;
  py::list estimators;
  for (const auto& each : found.estimators)
    estimators.append(py::dict("directions"_a = to_string(each.directions),
                               "statistic"_a = to_string(each.statistic), "lgi"_a = each.lgi,
                               "deviation"_a = each.deviation, "forwards"_a = each.forwards));
  py::list radii;
  for (const auto& each : found.radii)
    radii.append(py::dict("radius"_a = each.radius, "change"_a = each.change, "residual"_a = each.residual,
                          "above_noise"_a = each.above_noise));
  py::list layers;
  for (const auto& each : found.layers)
    layers.append(py::dict("name"_a = each.name, "parameters"_a = each.parameters,
                           "signature"_a = dictionary_of(each.signature)));
  const auto& suggested = found.suggestion;
  std::ostringstream report;
  report << found;
  return py::dict(
      "loss"_a = found.loss, "gradient_norm"_a = found.gradient_norm, "parameters"_a = found.parameters,
      "noise"_a = found.noise, "smallest_radius"_a = found.smallest_radius,
      "signature"_a = dictionary_of(found.signature), "estimators"_a = estimators, "radii"_a = radii,
      "layers"_a = layers, "report"_a = report.str(),
      "suggestion"_a = py::dict("brake"_a = suggested.brake, "directions"_a = to_string(suggested.directions),
                                "statistic"_a = to_string(suggested.statistic), "radius"_a = suggested.radius,
                                "damping"_a = suggested.damping, "reason"_a = suggested.reason));
}

inline void bind_probe_model(py::module_& module) {
  module.def("probe_model", [](const std::vector<std::pair<std::string, at::Tensor>>& named,
                               const std::vector<at::Tensor>& buffers, py::object loss,
                               const py::object& radii, const py::object& probes, const py::object& radius,
                               const py::object& lr, const py::object& seed, const py::object& layers) {
    std::vector<NamedParameter> parameters;
    for (const auto& [name, tensor] : named) parameters.push_back({name, tensor});
    ProbeModelOptions options;
    guarded([&] {
      if (!radii.is_none()) options.radii.clear();
      for (const auto& each : radii.is_none() ? py::list() : py::list(radii))
        take_value("radii", each, options.radii.emplace_back());
      take_value("probes", probes, options.probes);
      take_value("radius", radius, options.radius);
      take_value("lr", lr, options.lr);
      take_value("seed", seed, options.seed);
      take_value("layers", layers, options.layers);
    });
    const auto closure = closure_from(std::move(loss));
    return dictionary_of(unlocked([&] { return probe_model(parameters, buffers, closure, options); }));
  });
}

}  // namespace sadam::python
