// Python functions that the engine calls, and how errors and warnings go back.
//
// The engine runs without the interpreter's lock: torch's backward pass may not hold it. A callback takes the
// lock for as long as it is called.
#pragma once

#include <sadam/directions.h>
#include <sadam/error.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sadam::python {

using Closure = torch::optim::Optimizer::LossClosure;

/// Keeps a Python object, to be let go of by whoever is last, with or without the lock.
inline std::shared_ptr<py::object> shared(py::object object) {
  return {new py::object(std::move(object)), [](py::object* last) {
            const py::gil_scoped_acquire lock;
            delete last;
          }};
}

inline std::string type_of(py::handle object) { return Py_TYPE(object.ptr())->tp_name; }

inline at::Tensor tensor_from(py::handle object, const char* what) {
  if (!THPVariable_Check(object.ptr())) {
    const auto sentence = std::string(what) + " returned an object of type '" + type_of(object) +
                          "': return the tensor itself, without .item() or float().";
    throw py::type_error(sentence);
  }
  return THPVariable_Unpack(object.ptr());
}

inline Closure closure_from(py::object function) {
  return [held = shared(std::move(function))] {
    const py::gil_scoped_acquire lock;
    return tensor_from((*held)(), "the closure");
  };
}

inline std::vector<Closure> closures_from(const std::vector<py::object>& functions) {
  std::vector<Closure> closures;
  for (const auto& function : functions) closures.push_back(closure_from(function));
  return closures;
}

/// None: null.
inline std::function<void()> hook_from(py::object function) {
  if (function.is_none()) return nullptr;
  return [held = shared(std::move(function))] {
    const py::gil_scoped_acquire lock;
    (*held)();
  };
}

inline DirectionSource source_from(py::object function) {
  if (function.is_none()) return nullptr;
  return [held = shared(std::move(function))](const DirectionRequest& request) {
    const py::gil_scoped_acquire lock;
    return tensor_from((*held)(request), "the direction source");
  };
}

/// `sadam.Error`.
inline PyObject* error_type() {
  static PyObject* const type =
      py::module_::import("sadam._error").attr("Error").cast<py::object>().release().ptr();
  return type;
}

/// Calls f. What the library refuses becomes `sadam.Error`, what torch throws the error that torch's own
/// functions raise, and warnings Python's warnings.
template <class F>
auto guarded(F&& f) {
  const auto call = [](const auto& work) {
    HANDLE_TH_ERRORS
    try {
      work();
    } catch (const Error& refusal) {
      PyErr_SetString(error_type(), refusal.what());
      throw py::error_already_set();
    }
    END_HANDLE_TH_ERRORS_PYBIND
  };
  using Result = std::invoke_result_t<F>;
  if constexpr (std::is_void_v<Result>) {
    call(f);
  } else {
    // Not returned from in there: a warning that is an error is thrown by a destructor, and GCC 12 would
    // destroy the result twice.
    std::optional<Result> result;
    call([&] { result.emplace(f()); });
    return std::move(*result);
  }
}

/// The same without the interpreter's lock.
template <class F>
auto unlocked(F&& f) {
  return guarded([&] {
    const py::gil_scoped_release no_lock;
    return f();
  });
}

}  // namespace sadam::python
