#include "writes.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>

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
  // Torch calls back a plain function.
  static std::unique_ptr<at::ObserverContext> before_operator(const at::RecordFunction& function) {
    const auto schema = function.operator_schema();
    if (!schema) return nullptr;
    const auto& arguments = schema->arguments();
    const auto values = function.inputs();
    for (std::size_t i = 0; i < std::min(arguments.size(), values.size()); ++i) {
      const auto* const alias = arguments[i].alias_info();
      if (alias == nullptr || !alias->isWrite()) continue;
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

bool WrittenMemory::overlaps(const WrittenMemory& other) const {
  return std::any_of(storages_.begin(), storages_.end(),
                     [&](const auto& entry) { return other.storages_.count(entry.first) > 0; });
}

bool WrittenMemory::has(const at::Tensor& tensor) const {
  return tensor.defined() && tensor.has_storage() &&
         storages_.count(tensor.storage().unsafeGetStorageImpl()) > 0;
}

Undo::Undo(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors)
    if (tensor.defined() && tensor.has_storage())
      tensors_[tensor.storage().unsafeGetStorageImpl()].push_back(tensor);
}

void Undo::watch(const std::function<void()>& work) {
  const Watch watch([this](const at::Tensor& tensor) {
    const auto found = tensors_.find(tensor.storage().unsafeGetStorageImpl());
    if (found == tensors_.end()) return;
    const at::NoGradGuard no_grad;
    for (const auto& changing : found->second)
      copies_.emplace_back(changing, changing.variable_data().clone());
    tensors_.erase(found);
  });
  work();
  watch.rethrow();
}

void Undo::restore() const {
  const at::NoGradGuard no_grad;
  for (const auto& [tensor, copy] : copies_) tensor.variable_data().copy_(copy);
}

}  // namespace sadam::probe
