// Fields of a struct as the members of a JSON object, for whoever visits them by name: events and
// checkpoints.
#pragma once

#include <fmt/format.h>
#include <sadam/error.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sadam::train {

/// Takes fields from an object. What is missing or of another type is an Error whose sentence has no
/// beginning and no end yet: "'step' is missing".
class JsonFieldReader {
 public:
  explicit JsonFieldReader(const nlohmann::json& object) : object_(object) {}

  void operator()(const char* name, std::int64_t& value) const { read_integer(name, value); }
  void operator()(const char* name, std::uint64_t& value) const { read_integer(name, value); }
  void operator()(const char* name, std::uint32_t& value) const { read_integer(name, value); }

  /// null is a number that was not finite, which JSON cannot hold.
  void operator()(const char* name, double& value) const { value = number_in(at(name), name, "no number"); }

  /// A field that need not be there.
  void operator()(const char* name, std::optional<double>& value) const {
    if (!object_.contains(name)) return value.reset();
    (*this)(name, value.emplace());
  }

  /// Neither need a list be.
  void operator()(const char* name, std::vector<double>& values) const {
    values.clear();
    if (!object_.contains(name)) return;
    const auto& list = at(name);
    if (!list.is_array()) refuse(name, "no list");
    for (const auto& json : list) values.push_back(number_in(json, name, "no list of numbers"));
  }

  void operator()(const char* name, bool& value) const {
    const auto& json = at(name);
    if (!json.is_boolean()) refuse(name, "neither true nor false");
    value = json.get<bool>();
  }

  void operator()(const char* name, std::string& value) const {
    const auto& json = at(name);
    if (!json.is_string()) refuse(name, "no text");
    value = json.get_ref<const std::string&>();
  }

 private:
  static double number_in(const nlohmann::json& json, const char* name, const char* problem) {
    if (!json.is_number() && !json.is_null()) refuse(name, problem);
    return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
  }

  template <class Integer>
  void read_integer(const char* name, Integer& value) const {
    const auto& json = at(name);
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
    const bool fits = json.is_number_unsigned()
                          ? json.get<std::uint64_t>() <= kMost
                          : std::numeric_limits<Integer>::is_signed && json.is_number_integer();
    if (!fits) refuse(name, "no integer");
    value = json.get<Integer>();
  }

  const nlohmann::json& at(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) refuse(name, "missing");
    return *found;
  }

  [[noreturn]] static void refuse(const char* name, const char* problem) {
    throw Error(fmt::format("'{}' is {}", name, problem));
  }

  const nlohmann::json& object_;
};

/// Puts fields into an object, in order. Numbers that are not finite become null in `dump`, all others read
/// back to the bit.
class JsonFieldWriter {
 public:
  explicit JsonFieldWriter(nlohmann::ordered_json& object) : object_(object) {}

  template <class Value>
  void operator()(const char* name, const Value& value) const {
    object_[name] = value;
  }
  void operator()(const char* name, const std::optional<double>& value) const {
    if (value) object_[name] = *value;
  }
  void operator()(const char* name, const std::vector<double>& values) const {
    if (!values.empty()) object_[name] = values;
  }

 private:
  nlohmann::ordered_json& object_;
};

}  // namespace sadam::train
