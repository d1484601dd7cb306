// How optimizers are written and read: one format for SAdam, AdamW and ProxSGD, the same under every
// libtorch and for every front end.
//
// Parameters are known by their place (group, index), not by an address, so a state saved by one process and
// one version of libtorch loads in another.
#pragma once

#include <sadam/error.h>
#include <sadam/step_summary.h>
#include <torch/serialize/archive.h>

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "step/option_names.h"

namespace sadam::step {

/// The format this library writes. It reads this one and older ones.
inline constexpr std::int64_t kFormat = 1;

using Writer = std::function<void(torch::serialize::OutputArchive&)>;
using Reader = std::function<void(torch::serialize::InputArchive&)>;

struct SavedParameter {
  at::Tensor parameter;
  Writer state;  ///< null: it has none yet
};

struct SavedGroup {
  Writer options;
  std::vector<SavedParameter> parameters;
};

struct SavedState {
  std::string optimizer;  ///< "SAdam"
  Totals totals;
  Writer defaults;
  std::vector<SavedGroup> groups;
};

void save_state(torch::serialize::OutputArchive& archive, const SavedState& saved);

/// What takes a state from an archive, in the order in which it is called: the defaults; for each group its
/// options, then the state of each of its parameters.
struct StateReader {
  std::string optimizer;
  std::vector<std::vector<at::Tensor>> parameters;  ///< of each group
  Reader defaults;
  Reader options;
  /// Is given null where a parameter had no state. Returns the state's tensors, which must be like the
  /// parameter.
  std::function<std::vector<at::Tensor>(torch::serialize::InputArchive*)> state;
};

/// Reads and checks; throws a sentence if the archive does not fit. Returns the totals.
Totals load_state(torch::serialize::InputArchive& archive, const StateReader& reader);

/// Reads one value, or throws a sentence that names what is missing.
c10::IValue read_value(torch::serialize::InputArchive& archive, const std::string& key);

/// An option, to and from an archive. Choices go by their names; where an older archive lacks the option, its
/// value stays.
template <class T>
void write_option(torch::serialize::OutputArchive& archive, const char* name, const T& value) {
  if constexpr (std::is_enum_v<T>)
    archive.write(name, c10::IValue(to_string(value)));
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    archive.write(name, c10::IValue(static_cast<std::int64_t>(value)));
  else
    archive.write(name, c10::IValue(value));
}

template <class T>
void read_option(torch::serialize::InputArchive& archive, const char* name, T& value) {
  c10::IValue saved;
  if (!archive.try_read(name, saved)) return;
  if constexpr (std::is_enum_v<T>)
    value = value_named<T>(saved.toStringRef(), name);
  else if constexpr (std::is_same_v<T, double>)
    value = saved.toDouble();
  else if constexpr (std::is_same_v<T, bool>)
    value = saved.toBool();
  else
    value = static_cast<T>(saved.toInt());
}

}  // namespace sadam::step
