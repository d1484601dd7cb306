#include "writes.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <unordered_set>

namespace sadam::probe {
namespace {

// While it lives, it is told of each tensor that an operator is about to change.
class Watch {
 public:
  using Note = std::function<void(const at::Tensor&)>;

  explicit Watch(Note note) : note_(std::move(note)), outer_(std::exchange(innermost, this)) {
    if (outer_ != nullptr) return;
    enabled_.emplace();
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&before_operator).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  ~Watch() {
    innermost = outer_;
    if (outer_ == nullptr) at::removeCallback(handle_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// What went wrong with a note, which torch would pass over.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // The schemas of batch norms do not say it.
  static bool is_running(const c10::Argument& argument, const std::vector<c10::Argument>& arguments,
                         c10::ArrayRef<const c10::IValue> values) {
    if (argument.name() != "running_mean" && argument.name() != "running_var") return false;
    for (std::size_t i = 0; i < std::min(arguments.size(), values.size()); ++i)
      if (arguments[i].name() == "training" || arguments[i].name() == "use_input_stats")
        return values[i].isBool() && values[i].toBool();
    return false;
  }

  // Torch calls back a plain function.
  static std::unique_ptr<at::ObserverContext> before_operator(const at::RecordFunction& function) {
    const auto schema = function.operator_schema();
    if (!schema) return nullptr;
    const auto& arguments = schema->arguments();
    const auto values = function.inputs();
    for (std::size_t i = 0; i < std::min(arguments.size(), values.size()); ++i) {
      const auto* const alias = arguments[i].alias_info();
      const bool is_written = alias != nullptr && alias->isWrite();
      if (!is_written && !is_running(arguments[i], arguments, values)) continue;
      if (values[i].isTensor()) tell(values[i].toTensor());
      if (values[i].isTensorList())
        for (const at::Tensor& tensor : values[i].toTensorVector()) tell(tensor);
    }
    return nullptr;
  }

  static void tell(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    const at::DisableRecordFunctionGuard not_the_notes_own;
    for (Watch* watch = innermost; watch != nullptr; watch = watch->outer_) {
      try {
        watch->note_(tensor);
      } catch (...) {
        watch->error_ = std::current_exception();
      }
    }
  }

  static thread_local Watch* innermost;

  Note note_;
  Watch* outer_;
  std::optional<at::RecordFunctionGuard> enabled_;
  at::CallbackHandle handle_ = 0;
  std::exception_ptr error_;
};

thread_local Watch* Watch::innermost = nullptr;

}  // namespace

WrittenMemory::WrittenMemory(const std::function<void()>& work) {
  const Watch watch([this](const at::Tensor& tensor) {
    const auto& storage = tensor.storage();
    storages_.emplace(storage.unsafeGetStorageImpl(), storage.getWeakStorageImpl());
  });
  work();
  watch.rethrow();
}

bool WrittenMemory::overlaps(const WrittenMemory& other, const std::vector<at::Tensor>& except) const {
  std::unordered_set<const c10::StorageImpl*> excepted;
  for (const auto& tensor : except)
    if (tensor.defined() && tensor.has_storage()) excepted.insert(tensor.storage().unsafeGetStorageImpl());
  return std::any_of(storages_.begin(), storages_.end(), [&](const auto& entry) {
    return other.storages_.count(entry.first) > 0 && excepted.count(entry.first) == 0;
  });
}

bool WrittenMemory::has(const at::Tensor& tensor) const {
  return tensor.defined() && tensor.has_storage() &&
         storages_.count(tensor.storage().unsafeGetStorageImpl()) > 0;
}

namespace {

// Where there is no room beside it, on the host.
at::Tensor copy_of(const at::Tensor& memory) {
  try {
    return memory.clone();
  } catch (const c10::OutOfMemoryError&) {
    return memory.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
  }
}

}  // namespace

Undo::Undo(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    if (!tensor.defined() || !tensor.has_storage()) continue;
    const auto memory = tensor.variable_data();
    tensors_.emplace_back(tensor, memory);
    unchanged_[memory.storage().unsafeGetStorageImpl()].push_back(memory);
  }
}

void Undo::watch(const std::function<void()>& work) {
  const Watch watch([this](const at::Tensor& tensor) {
    const auto found = unchanged_.find(tensor.storage().unsafeGetStorageImpl());
    if (found == unchanged_.end()) return;
    const at::NoGradGuard no_grad;
    for (const auto& memory : found->second) copies_.emplace_back(memory, copy_of(memory));
    unchanged_.erase(found);
  });
  work();
  watch.rethrow();
}

void Undo::restore() const {
  const at::NoGradGuard no_grad;
  for (const auto& [memory, copy] : copies_) memory.copy_(copy);
  for (const auto& [tensor, memory] : tensors_)
    if (!tensor.is_alias_of(memory)) tensor.set_data(memory);
}

}  // namespace sadam::probe
