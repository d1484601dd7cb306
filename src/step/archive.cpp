#include "step/archive.h"

#include <sstream>

namespace sadam::step {
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

void save_state(OutputArchive& archive, const SavedState& saved) {
  const auto nested = [&](OutputArchive& to, const std::string& key, const Writer& write) {
    OutputArchive inner(archive.compilation_unit());
    write(inner);
    to.write(key, inner);
  };
  archive.write("sadam_format", c10::IValue(kFormat));
  archive.write("optimizer", c10::IValue(saved.optimizer));
  archive.write("steps", c10::IValue(saved.totals.steps));
  archive.write("skipped", c10::IValue(saved.totals.skipped));
  archive.write("non_finite_probes", c10::IValue(saved.totals.non_finite_probes));
  nested(archive, "defaults", saved.defaults);
  archive.write("groups", c10::IValue(static_cast<std::int64_t>(saved.groups.size())));
  for (std::size_t g = 0; g < saved.groups.size(); ++g) {
    nested(archive, "group" + std::to_string(g), [&](OutputArchive& group) {
      const auto& parameters = saved.groups[g].parameters;
      nested(group, "options", saved.groups[g].options);
      group.write("parameters", c10::IValue(static_cast<std::int64_t>(parameters.size())));
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        nested(group, "parameter" + std::to_string(i), [&](OutputArchive& entry) {
          entry.write("shape", c10::IValue(parameters[i].parameter.sizes().vec()));
          entry.write("has_state", c10::IValue(parameters[i].state != nullptr));
          if (parameters[i].state) nested(entry, "state", parameters[i].state);
        });
      }
    });
  }
}

namespace {

Totals read_state(InputArchive& archive, const StateReader& reader) {
  check_kind(archive, reader.optimizer);
  Totals totals;
  totals.steps = read_value(archive, "steps").toInt();
  totals.skipped = read_value(archive, "skipped").toInt();
  totals.non_finite_probes = read_value(archive, "non_finite_probes").toInt();
  auto defaults = read_archive(archive, "defaults");
  reader.defaults(defaults);

  check_count(read_size(archive, "groups"), reader.parameters.size(), "parameter groups");
  for (std::size_t g = 0; g < reader.parameters.size(); ++g) {
    auto group = read_archive(archive, "group" + std::to_string(g));
    auto options = read_archive(group, "options");
    reader.options(options);
    const auto& parameters = reader.parameters[g];
    check_count(read_size(group, "parameters"), parameters.size(),
                "parameters in group " + std::to_string(g));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      auto entry = read_archive(group, "parameter" + std::to_string(i));
      check_shape(read_value(entry, "shape").toIntVector(), parameters[i], g, i);
      if (!read_value(entry, "has_state").toBool()) {
        reader.state(nullptr);
        continue;
      }
      auto inner = read_archive(entry, "state");
      for (const auto& tensor : reader.state(&inner)) {
        if (!tensor.defined()) continue;
        check_shape(tensor.sizes(), parameters[i], g, i);
        if (tensor.scalar_type() != parameters[i].scalar_type() || tensor.device() != parameters[i].device())
          throw Error("load: the saved state of " + place(g, i) +
                      " has another type or device than the parameter: convert the model first.");
      }
    }
  }
  return totals;
}

}  // namespace

Totals load_state(InputArchive& archive, const StateReader& reader) {
  try {
    return read_state(archive, reader);
  } catch (const c10::Error&) {
    throw Error("load: the saved state holds a value of another type than was written: the file is damaged.");
  }
}

}  // namespace sadam::step
