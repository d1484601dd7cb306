#include "archive.h"

#include <sstream>
#include <utility>

namespace sadam::optim {
namespace {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

std::string place(std::size_t group, std::size_t index) {
  return "parameter " + std::to_string(index) + " of group " + std::to_string(group);
}

InputArchive read_archive(InputArchive& archive, const std::string& key) {
  InputArchive inner;
  if (!archive.try_read(key, inner))
    throw Error("load: the saved state has no '" + key + "': the file is damaged.");
  return inner;
}

std::size_t read_size(InputArchive& archive, const std::string& key) {
  const auto size = read_value(archive, key).toInt();
  if (size < 0) throw Error("load: '" + key + "' is negative in the saved state: the file is damaged.");
  return static_cast<std::size_t>(size);
}

void check_kind(InputArchive& archive, const std::string& name) {
  c10::IValue format;
  if (!archive.try_read("sadam_format", format) || !format.isInt())
    throw Error("load: this is no state saved by sadam: load a file written by torch::save of a sadam::" +
                name + ".");
  if (format.toInt() > kFormat)
    throw Error("load: the state was saved in format " + std::to_string(format.toInt()) +
                ", and this sadam reads up to " + std::to_string(kFormat) + ": use a newer sadam.");
  const auto saved_by = read_value(archive, "optimizer").toStringRef();
  if (saved_by != name)
    throw Error("load: the state was saved by sadam::" + saved_by + ", this optimizer is a sadam::" + name +
                ": load it into one of the same kind.");
}

void check_shape(at::IntArrayRef saved, const at::Tensor& parameter, std::size_t group, std::size_t index) {
  if (saved == parameter.sizes()) return;
  std::ostringstream sentence;
  sentence << "load: " << place(group, index) << " has shape " << parameter.sizes()
           << " and the saved state is for shape " << saved
           << ": build the optimizer for the model that was saved.";
  throw Error(sentence.str());
}

void check_count(std::size_t saved, std::size_t present, const std::string& what) {
  if (saved == present) return;
  throw Error("load: the saved state has " + std::to_string(saved) + " " + what + " and this optimizer has " +
              std::to_string(present) + ": build the optimizer as it was when it was saved.");
}

}  // namespace

c10::IValue read_value(InputArchive& archive, const std::string& key) {
  c10::IValue value;
  if (!archive.try_read(key, value))
    throw Error("load: the saved state has no '" + key + "': the file is damaged.");
  return value;
}

void save_state(OutputArchive& archive, const Optimizer& optimizer, const std::string& name) {
  archive.write("sadam_format", c10::IValue(kFormat));
  archive.write("optimizer", c10::IValue(name));
  archive.write("steps", c10::IValue(optimizer.totals().steps));
  archive.write("skipped", c10::IValue(optimizer.totals().skipped));
  archive.write("non_finite_probes", c10::IValue(optimizer.totals().non_finite_probes));
  OutputArchive defaults(archive.compilation_unit());
  optimizer.defaults().serialize(defaults);
  archive.write("defaults", defaults);

  const auto& groups = optimizer.param_groups();
  archive.write("groups", c10::IValue(static_cast<std::int64_t>(groups.size())));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    OutputArchive group(archive.compilation_unit());
    OutputArchive options(archive.compilation_unit());
    groups[g].options().serialize(options);
    group.write("options", options);
    const auto& parameters = groups[g].params();
    group.write("parameters", c10::IValue(static_cast<std::int64_t>(parameters.size())));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      OutputArchive entry(archive.compilation_unit());
      entry.write("shape", c10::IValue(parameters[i].sizes().vec()));
      const auto* state = find_state<torch::optim::OptimizerParamState>(optimizer.state(), parameters[i]);
      entry.write("has_state", c10::IValue(state != nullptr));
      if (state) {
        OutputArchive inner(archive.compilation_unit());
        state->serialize(inner);
        entry.write("state", inner);
      }
      group.write("parameter" + std::to_string(i), entry);
    }
    archive.write("group" + std::to_string(g), group);
  }
}

namespace {

LoadedState read_state(InputArchive& archive, const Optimizer& optimizer, const Factories& factories) {
  check_kind(archive, factories.name);
  LoadedState loaded;
  loaded.totals.steps = read_value(archive, "steps").toInt();
  loaded.totals.skipped = read_value(archive, "skipped").toInt();
  loaded.totals.non_finite_probes = read_value(archive, "non_finite_probes").toInt();
  auto defaults = read_archive(archive, "defaults");
  loaded.defaults = factories.options();
  loaded.defaults->serialize(defaults);

  const auto& groups = optimizer.param_groups();
  check_count(read_size(archive, "groups"), groups.size(), "parameter groups");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto group = read_archive(archive, "group" + std::to_string(g));
    auto options = read_archive(group, "options");
    loaded.options.push_back(factories.options());
    loaded.options.back()->serialize(options);

    const auto& parameters = groups[g].params();
    check_count(read_size(group, "parameters"), parameters.size(),
                "parameters in group " + std::to_string(g));
    auto& states = loaded.states.emplace_back();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      auto entry = read_archive(group, "parameter" + std::to_string(i));
      check_shape(read_value(entry, "shape").toIntVector(), parameters[i], g, i);
      if (!read_value(entry, "has_state").toBool()) {
        states.push_back(nullptr);
        continue;
      }
      auto inner = read_archive(entry, "state");
      states.push_back(factories.state());
      states.back()->serialize(inner);
      for (const auto& tensor : factories.tensors(*states.back())) {
        if (!tensor.defined()) continue;
        check_shape(tensor.sizes(), parameters[i], g, i);
        if (tensor.scalar_type() != parameters[i].scalar_type() || tensor.device() != parameters[i].device())
          throw Error("load: the saved state of " + place(g, i) +
                      " has another type or device than the parameter: convert the model first.");
      }
    }
  }
  return loaded;
}

}  // namespace

LoadedState load_state(InputArchive& archive, const Optimizer& optimizer, const Factories& factories) {
  try {
    return read_state(archive, optimizer, factories);
  } catch (const c10::Error&) {
    throw Error("load: the saved state holds a value of another type than was written: the file is damaged.");
  }
}

void commit_state(LoadedState loaded, std::vector<torch::optim::OptimizerParamGroup>& groups,
                  StateMap& states) {
  states.clear();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].set_options(std::move(loaded.options[g]));
    for (std::size_t i = 0; i < groups[g].params().size(); ++i)
      if (loaded.states[g][i]) states[state_key(groups[g].params()[i])] = std::move(loaded.states[g][i]);
  }
}

}  // namespace sadam::optim
