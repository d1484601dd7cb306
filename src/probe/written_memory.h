// What an evaluation writes, as torch's operators show it.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <unordered_map>

namespace sadam::probe {

/// The memory that torch's operators write on this thread while some work is done: what they change in place.
/// A kernel that is not called through torch is not seen.
class WrittenMemory {
 public:
  explicit WrittenMemory(const std::function<void()>& work);

  /// Whether the work of the two, had it been done at the same time, would have written to the same memory.
  /// What each made for itself does not count, even where one got what the other had let go of.
  bool overlaps(const WrittenMemory& other) const;

 private:
  // Weak: memory may go, but what is known of it cannot be mistaken for that of another.
  std::unordered_map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> storages_;
};

}  // namespace sadam::probe
