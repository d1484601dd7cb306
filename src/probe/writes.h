// What an evaluation writes, as torch's operators show it: what they change in place, on the thread that
// looks. A kernel that is not called through torch is not seen.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sadam::probe {

/// The memory that is written while some work is done. (Batch norms count as writing their statistics.)
class WrittenMemory {
 public:
  explicit WrittenMemory(const std::function<void()>& work);

  /// Whether the work of the two, had it been done at the same time, would have written to the same memory,
  /// that of some tensors excepted. What each made for itself does not count, even where one got what the
  /// other had let go of.
  bool overlaps(const WrittenMemory& other, const std::vector<at::Tensor>& except = {}) const;
  /// Whether it wrote to that of a tensor, which must have been there before.
  bool has(const at::Tensor& tensor) const;

 private:
  // Weak: memory may go, but what is known of it cannot be mistaken for that of another.
  std::unordered_map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> storages_;
};

/// Tensors that can be put back as they were before some work was done, in the memory that they had, for the
/// price of a copy of those that it changes.
class Undo {
 public:
  explicit Undo(const std::vector<at::Tensor>& tensors);

  void watch(const std::function<void()>& work);
  /// Without touching version counters.
  void restore() const;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> tensors_;  // each with its memory
  std::unordered_map<const c10::StorageImpl*, std::vector<at::Tensor>> unchanged_;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;  // to be copied back: to, from
};

}  // namespace sadam::probe
