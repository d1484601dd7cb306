#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <sadam/probe_model.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "nn/classifier.h"
#include "nn/load_weights.h"
#include "nn/weights/tensor_file.h"
#include "train/device.h"
#include "train/trained_run.h"

namespace sadam::cli {
namespace {

constexpr const char* kProbeHelp = R"(Says where and how the loss of a model is not smooth around its weights.

  sadam probe first
      a run, by its name below --root or by its folder
  sadam probe --weights first.safetensors
      a file that 'sadam export' wrote; other files as for 'sadam eval'
  sadam probe --script model.pt --batch batch.safetensors
      a model of your own: a TorchScript file whose forward(*batch) returns
      the loss, and a batch whose tensors have the names of its arguments

It shows how the loss changes at growing distances from the weights, from where
on that stands above rounding, how what the gradient does not foretell falls
with the distance (as its square where the loss is smooth, in proportion at a
kink, not at all at a jump), ρ as every estimator sees it, and what to train
with. It evaluates one batch, in training mode, and changes nothing.)";

struct ProbeArguments {
  ModelArgument model;
  std::string script;
  std::string batch;
  ProbeModelOptions options;
  std::int64_t seed = 0;
  bool no_layers = false;
  bool json = false;
};

/// What libtorch says, less its pages of places in its own source.
std::string first_sentence(const std::exception& error) {
  std::string text = error.what();
  text.resize(std::min(text.size(), text.find('\n')));
  return text;
}

torch::jit::Module load_script(const std::string& path, const c10::Device& device) {
  if (!std::filesystem::is_regular_file(path))
    throw UsageError(fmt::format("--script: there is no file {}.", base::in_quotes(path)));
  try {
    return torch::jit::load(path, device);
  } catch (const c10::Error&) {
    throw Error(
        fmt::format("{} is damaged or no TorchScript file: save the model with torch.jit.save.", path));
  }
}

/// The tensors of the file in the order of forward's arguments.
std::vector<c10::IValue> batch_for(const torch::jit::Module& script, const std::string& path,
                                   const c10::Device& device) {
  const auto file = weights::read_weights(path);
  std::vector<c10::IValue> inputs;
  const auto method = script.find_method("forward");
  if (!method) throw Error("--script: the model has no forward: script a module that has one.");
  std::vector<std::string> wanted;
  for (const auto& argument : method->function().getSchema().arguments())
    if (argument.name() != "self") wanted.push_back(argument.name());
  for (const auto& name : wanted) {
    const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                    [&](const auto& tensor) { return tensor.name == name; });
    if (found == file.tensors.end())
      throw UsageError(
          fmt::format("--batch: {} has no tensor '{}'; forward takes {}: save them by these names.", path,
                      name, fmt::join(wanted, ", ")));
    inputs.emplace_back(nn::tensor_of(*found).to(device));
  }
  if (file.tensors.size() != wanted.size())
    throw UsageError(
        fmt::format("--batch: {} holds {} tensors and forward takes {} ({}): leave the others out.", path,
                    file.tensors.size(), wanted.size(), fmt::join(wanted, ", ")));
  return inputs;
}

ModelProbe probe_script(const ProbeArguments& arguments) {
  const auto device = train::device_named(arguments.model.recipe.resolve().train.device);
  auto script = load_script(arguments.script, device);
  const auto inputs = batch_for(script, arguments.batch, device);
  script.train();
  std::vector<NamedParameter> parameters;
  for (const auto& each : script.named_parameters()) parameters.push_back({each.name, each.value});
  std::vector<at::Tensor> buffers;
  for (const auto& buffer : script.buffers()) buffers.push_back(buffer);
  const auto loss = [&]() -> at::Tensor {
    c10::IValue result;
    try {
      result = script.forward(inputs);
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(
          fmt::format("{}: forward fails on this batch ({}): check names, types and shapes in --batch.",
                      arguments.script, first_sentence(error)));
    }
    if (!result.isTensor())
      throw Error(fmt::format("{}: forward returns {} and no loss: let it return one number, a tensor.",
                              arguments.script, result.tagKind()));
    return result.toTensor();
  };
  return probe_model(parameters, buffers, loss, arguments.options);
}

ModelProbe probe_trained(const ProbeArguments& arguments) {
  const auto [paths, recipe] = arguments.model.find("probe");
  const auto trained =
      train::network_and_batch(paths, recipe, {.best = arguments.model.best, .said = &std::cerr});
  const auto objective = train::objective_of(*trained.network);
  return probe_model(
      *objective.module, [&] { return objective.loss(trained.batch); }, arguments.options);
}

nlohmann::ordered_json to_json(const Signature& signature) {
  return {{"smoothness", to_string(signature.smoothness)},
          {"power", signature.power},
          {"error", signature.error},
          {"from", signature.from},
          {"to", signature.to}};
}

nlohmann::ordered_json to_json(const ModelProbe& found) {
  nlohmann::ordered_json json = {{"loss", found.loss},
                                 {"gradient_norm", found.gradient_norm},
                                 {"parameters", found.parameters},
                                 {"noise", found.noise},
                                 {"smallest_radius", found.smallest_radius},
                                 {"signature", to_json(found.signature)}};
  for (const auto& each : found.radii)
    json["radii"].push_back({{"radius", each.radius},
                             {"change", each.change},
                             {"residual", each.residual},
                             {"above_noise", each.above_noise}});
  for (const auto& each : found.estimators)
    json["estimators"].push_back({{"directions", to_string(each.directions)},
                                  {"statistic", to_string(each.statistic)},
                                  {"lgi", each.lgi},
                                  {"deviation", each.deviation},
                                  {"forwards", each.forwards}});
  for (const auto& each : found.layers)
    json["layers"].push_back(
        {{"name", each.name}, {"parameters", each.parameters}, {"signature", to_json(each.signature)}});
  json["suggestion"] = {{"brake", found.suggestion.brake},
                        {"directions", to_string(found.suggestion.directions)},
                        {"statistic", to_string(found.suggestion.statistic)},
                        {"radius", found.suggestion.radius},
                        {"damping", found.suggestion.damping},
                        {"reason", found.suggestion.reason}};
  return json;
}

void check(const ProbeArguments& arguments) {
  if (arguments.script.empty() != arguments.batch.empty())
    throw UsageError("--script and --batch go together: give both, or neither.");
  if (!arguments.script.empty() && arguments.model.is_given())
    throw UsageError("probe takes a run, --weights or --script, not two of them: leave one out.");
  const auto& radii = arguments.options.radii;
  const auto is_positive = [](double value) { return value > 0 && std::isfinite(value); };
  const bool ascending =
      std::adjacent_find(radii.begin(), radii.end(), std::greater_equal<>()) == radii.end();
  if (!std::all_of(radii.begin(), radii.end(), is_positive) || !ascending)
    throw UsageError("--radii must be above 0, finite and ascending, such as 1e-3,1e-2,0.1.");
  if (!is_positive(arguments.options.radius)) throw UsageError("--radius must be above 0 and finite.");
  if (!is_positive(arguments.options.lr)) throw UsageError("--lr must be above 0 and finite.");
  if (arguments.options.probes < 2 || arguments.options.probes > 8191)
    throw UsageError("--probes must be between 2 and 8191.");
  if (arguments.seed < 0) throw UsageError("--seed must be at least 0.");
  if (arguments.script.empty() && !arguments.model.is_given())
    throw UsageError("probe needs a run, --weights with a file, or --script with --batch.");
}

void probe_now(ProbeArguments arguments) {
  check(arguments);
  arguments.options.layers = !arguments.no_layers;
  arguments.options.seed = static_cast<std::uint64_t>(arguments.seed);
  const auto found = train::within_memory(
      [&] { return arguments.script.empty() ? probe_trained(arguments) : probe_script(arguments); });
  if (arguments.json)
    std::cout << to_json(found).dump(2) << '\n';
  else
    std::cout << found;
}

}  // namespace

void add_probe(CLI::App& app) {
  const auto [command, arguments] = add_command<ProbeArguments>(app, "probe", kProbeHelp, probe_now);
  arguments.model.add_to(command);
  not_empty(command.add_option("--script", arguments.script, "A TorchScript file instead of a run"),
            "name the file, or leave it out and give a run");
  not_empty(
      command.add_option("--batch", arguments.batch, "A safetensors file with the arguments of forward"),
      "name the file, or leave it out and give a run");
  auto& options = arguments.options;
  command.add_option("--radii", options.radii, "Distances to look at, ascending")
      ->delimiter(',')
      ->expected(1, 1000)
      ->type_name("NUMBERS");
  command.add_option("--radius", options.radius, "Distance at which the estimators are compared")
      ->capture_default_str();
  command.add_option("--probes", options.probes, "Directions at each distance, and k")->capture_default_str();
  command.add_option("--lr", options.lr, "Learning rate of the step that is looked along")
      ->capture_default_str();
  command.add_option("--seed", arguments.seed, "Of the directions")->capture_default_str();
  command.add_flag("--no-layers", arguments.no_layers, "All parameters together, and no layer by itself");
  command.add_flag("--json", arguments.json, "Prints JSON for other programs");
}

}  // namespace sadam::cli
