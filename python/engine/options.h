// Options as Python's dictionaries, by the lists of <sadam/option_list.h>.
#pragma once

#include <sadam/option_list.h>
#include <sadam/s_adam_options.h>
#include <torch/csrc/utils/pybind.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "callbacks.h"
#include "optim/options.h"
#include "step/option_names.h"

namespace sadam::python {

[[noreturn]] inline void refuse_type(const char* option, py::handle given, const std::string& allowed) {
  throw py::type_error(std::string(option) + " is " + py::repr(given).cast<std::string>() + ": it must be " +
                       allowed + ".");
}

template <class T>
void take_value(const char* option, py::handle given, T& value) {
  if constexpr (std::is_enum_v<T>) {
    if (!py::isinstance<py::str>(given)) refuse_type(option, given, list_of_names<T>());
    value = value_named<T>(given.cast<std::string>(), option);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!py::isinstance<py::bool_>(given)) refuse_type(option, given, "True or False");
    value = given.cast<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    if (py::isinstance<py::bool_>(given) || PyIndex_Check(given.ptr()) == 0)
      refuse_type(option, given, "a whole number");
    try {
      value = given.cast<T>();
    } catch (const py::cast_error&) {
      throw Error(std::string(option) + " is " + py::repr(given).cast<std::string>() +
                  ": it must be between " + std::to_string(std::numeric_limits<T>::min()) + " and " +
                  std::to_string(std::numeric_limits<T>::max()) + ".");
    }
  } else {
    const bool is_text = py::isinstance<py::str>(given) || py::isinstance<py::bool_>(given);
    value = is_text ? -1 : PyFloat_AsDouble(given.ptr());
    if (is_text || PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse_type(option, given, "a number");
    }
  }
}

/// None: none.
inline std::optional<double> number_from(const char* name, py::handle given) {
  if (given.is_none()) return std::nullopt;
  double number = 0;
  take_value(name, given, number);
  return number;
}

template <class T>
py::object value_as_object(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return py::str(to_string(value));
  else
    return py::cast(value);
}

/// Sets those options that the dictionary has.
template <class Options>
void take_options(py::handle dictionary, Options& options) {
  Options::visit_options(options, [&](const OptionInfo& option, auto& value) {
    auto* const given = PyDict_GetItemString(dictionary.ptr(), option.name);
    if (given == nullptr) return;
    if constexpr (requires { value.set; })
      take_value(option.name, given, value.value);
    else
      take_value(option.name, given, value);
  });
}

template <class Options>
py::dict dictionary_of(const Options& options) {
  py::dict dictionary;
  Options::visit_options(options, [&](const OptionInfo& option, const auto& value) {
    dictionary[option.name] = value_as_object(optim::plain(value));
  });
  return dictionary;
}

/// Of each option: name, default, what it may be, meaning, whether it belongs to the whole optimizer.
template <class Options>
py::list list_options() {
  py::list list;
  const Options options;
  Options::visit_options(options, [&](const OptionInfo& option, const auto& of_option) {
    const auto& value = optim::plain(of_option);
    using T = std::decay_t<decltype(value)>;
    std::string allowed;
    if constexpr (std::is_enum_v<T>)
      allowed = list_of_names<T>();
    else if constexpr (std::is_same_v<T, bool>)
      allowed = "True or False";
    else
      allowed =
          optim::fault_of(std::numeric_limits<double>::quiet_NaN(), option.range, std::is_integral_v<T>);
    list.append(py::make_tuple(option.name, value_as_object(value), allowed, option.meaning,
                               std::is_same_v<std::decay_t<decltype(of_option)>, OptimizerWide<T>>));
  });
  return list;
}

}  // namespace sadam::python
