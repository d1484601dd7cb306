#include "written_memory.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace sadam::probe {
namespace {

using Note = std::function<void(const at::Tensor&)>;

// Torch calls back a plain function.
thread_local const Note* current_note = nullptr;

std::unique_ptr<at::ObserverContext> before_operator(const at::RecordFunction& function) {
  const auto schema = function.operator_schema();
  if (current_note == nullptr || !schema) return nullptr;
  const auto& arguments = schema->arguments();
  const auto values = function.inputs();
  for (std::size_t i = 0; i < std::min(arguments.size(), values.size()); ++i) {
    const auto* const alias = arguments[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    if (values[i].isTensor()) (*current_note)(values[i].toTensor());
    if (values[i].isTensorList())
      for (const at::Tensor& tensor : values[i].toTensorVector()) (*current_note)(tensor);
  }
  return nullptr;
}

class Watch {
 public:
  explicit Watch(const Note& note)
      : outer_(std::exchange(current_note, &note)),
        handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&before_operator)
                                               .needsInputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {}
  ~Watch() {
    at::removeCallback(handle_);
    current_note = outer_;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  const Note* outer_;
  at::RecordFunctionGuard enabled_;
  at::CallbackHandle handle_;
};

}  // namespace

WrittenMemory::WrittenMemory(const std::function<void()>& work) {
  const Note note = [this](const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    const auto& storage = tensor.storage();
    storages_.emplace(storage.unsafeGetStorageImpl(), storage.getWeakStorageImpl());
  };
  const Watch watch(note);
  work();
}

bool WrittenMemory::overlaps(const WrittenMemory& other) const {
  return std::any_of(storages_.begin(), storages_.end(),
                     [&](const auto& entry) { return other.storages_.count(entry.first) > 0; });
}

}  // namespace sadam::probe
