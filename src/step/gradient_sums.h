// The gradients of all ranks, added up while the backward pass still goes on.
#pragma once

#include <ATen/core/Tensor.h>
#include <sadam/process_group.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "step/item.h"

namespace torch::autograd {
struct Node;
}

namespace sadam::step {

/// Gradients go in buckets, the last parameters first, as the backward pass comes to them; every rank sends
/// the same buckets in the same order, whichever gradients it has. Those that it has not are zeros.
class GradientSums {
 public:
  /// `weight`: what this rank's gradients are multiplied by.
  GradientSums(ProcessGroup& group, const Items& items, double weight, std::int64_t bucket_bytes);
  ~GradientSums();
  GradientSums(const GradientSums&) = delete;
  GradientSums& operator=(const GradientSums&) = delete;

  /// From now on, a gradient that the backward pass has written is sent with its bucket.
  void watch();
  /// Sends what has not been sent. `zeros`: nothing that is there counts.
  void send_rest(bool zeros);
  /// Waits for the sums.
  void wait();
  /// Of an item, shaped like it, once they are there.
  at::Tensor sum_of(std::size_t item) const;
  /// All of them, in a few tensors.
  std::vector<at::Tensor> sums() const;

 private:
  class Hook;
  struct Bucket {
    std::vector<std::size_t> items;
    std::size_t missing = 0;  // gradients that are not there yet
    at::Tensor sum;
    std::function<void()> wait;  // null: not sent
  };
  void arrived(std::size_t item);
  void send(Bucket& bucket, bool zeros);
  void stop_watching();

  ProcessGroup& group_;
  const Items& items_;
  double weight_;
  std::vector<Bucket> buckets_;
  std::vector<std::pair<std::size_t, std::int64_t>> places_;  // bucket and offset of each item
  std::vector<bool> has_arrived_;
  std::size_t sent_ = 0;  // buckets
  struct Watched {
    std::shared_ptr<torch::autograd::Node> node;
    std::uintptr_t hook;
  };
  std::vector<Watched> watched_;
};

}  // namespace sadam::step
