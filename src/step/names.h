// One table for the names of an enum: how options are written to files and named in messages.
#pragma once

#include <sadam/error.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace sadam {

template <class Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

template <class Enum, std::size_t N>
std::string name_in(const Names<Enum, N>& names, Enum value) {
  for (const auto& [candidate, name] : names)
    if (candidate == value) return std::string(name);
  return "unknown(" + std::to_string(static_cast<int>(value)) + ")";
}

/// Throws a sentence that lists the valid names. `option` says what was being read.
template <class Enum, std::size_t N>
Enum value_in(const Names<Enum, N>& names, std::string_view name, std::string_view option) {
  std::string valid;
  for (const auto& [value, candidate] : names) {
    if (candidate == name) return value;
    valid += (valid.empty() ? "" : ", ") + std::string(candidate);
  }
  throw Error("'" + std::string(name) + "' is no value of '" + std::string(option) + "': use one of " +
              valid + ".");
}

template <class Enum, std::size_t N>
bool is_in(const Names<Enum, N>& names, Enum value) {
  for (const auto& entry : names)
    if (entry.first == value) return true;
  return false;
}

}  // namespace sadam
