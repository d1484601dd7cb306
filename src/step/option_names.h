// The names of choices, from the lists of <sadam/choices.h>.
#pragma once

#include <sadam/choices.h>
#include <sadam/error.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace sadam {

/// One form of a choice.
template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
  std::string_view meaning;
};

// Gives the enum of a list its names.
#define SADAM_NAMED(name, meaning, ...) ::sadam::Named<Family>{Family::name, #name, meaning},
#define SADAM_FAMILY(Enum, LIST)                                       \
  constexpr auto names_of(Enum) {                                      \
    using Family = Enum;                                               \
    return std::to_array<::sadam::Named<Family>>({LIST(SADAM_NAMED)}); \
  }

/// Every form of a family, by one of its values.
SADAM_FAMILY(Directions, SADAM_DIRECTIONS)
SADAM_FAMILY(Statistic, SADAM_STATISTICS)
SADAM_FAMILY(Brake, SADAM_BRAKES)
SADAM_FAMILY(ProbeNoise, SADAM_PROBE_NOISES)
SADAM_FAMILY(BiasCorrection, SADAM_BIAS_CORRECTIONS)
SADAM_FAMILY(GradientAt, SADAM_GRADIENT_PLACES)
SADAM_FAMILY(Split, SADAM_SPLITS)

template <class Enum>
bool is_known(Enum value) {
  for (const auto& each : names_of(value))
    if (each.value == value) return true;
  return false;
}

template <class Enum>
std::string name_of(Enum value) {
  for (const auto& each : names_of(value))
    if (each.value == value) return std::string(each.name);
  return "unknown(" + std::to_string(static_cast<int>(value)) + ")";
}

/// "a, b or c".
template <class Enum>
std::string list_of_names() {
  constexpr auto kAll = names_of(Enum{});
  std::string list;
  for (std::size_t i = 0; i < kAll.size(); ++i)
    list += (i == 0 ? "" : i + 1 == kAll.size() ? " or " : ", ") + std::string(kAll[i].name);
  return list;
}

/// The one probe along Adam's step has one difference, of which only `residual` makes something.
constexpr bool go_together(Directions directions, Statistic statistic) {
  return directions != Directions::step || statistic == Statistic::residual;
}

/// Throws a sentence that lists the valid names. `option` says what was being read.
template <class Enum>
Enum value_named(std::string_view name, std::string_view option) {
  for (const auto& each : names_of(Enum{}))
    if (each.name == name) return each.value;
  throw Error("'" + std::string(name) + "' is no value of '" + std::string(option) + "': use " +
              list_of_names<Enum>() + ".");
}

}  // namespace sadam
