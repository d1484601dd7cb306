// This process among those that train together: what a step asks of the others, and tells them.
#pragma once

#include <ATen/core/Tensor.h>
#include <sadam/process_group.h>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "step/gradient_sums.h"
#include "step/numbers.h"
#include "step/problem.h"

namespace sadam::step {

/// Alone, where no group was joined or it has one rank: then nothing here costs anything. Otherwise all ranks
/// go through the same exchanges in the same order, whatever happens to one of them: what that one throws is
/// told to the others in the next exchange, which throws on every rank.
class Ranks {
 public:
  void join(std::shared_ptr<ProcessGroup> group, const GroupOptions& options);
  /// How often a group was joined: a captured step holds the sums of one.
  std::int64_t joins() const { return joins_; }

  bool are_several() const { return group_ != nullptr && group_->size() > 1; }
  bool split_batch() const { return are_several() && options_.split() == Split::batch; }
  bool split_probes() const { return are_several() && options_.split() == Split::probes; }
  /// Whether this rank has nothing to evaluate.
  bool is_idle(const Request& request) const { return split_batch() && request.examples == 0; }
  /// Whether this rank evaluates that probe.
  bool evaluates(std::int64_t probe) const {
    return !split_probes() || probe % group_->size() == group_->rank();
  }

  /// What work throws, for the exchange that follows. Alone, it is thrown at once.
  template <class Work>
  std::exception_ptr failure_of(const Work& work) const {
    if (!are_several()) return work(), nullptr;
    try {
      work();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  /// Before the last backward pass of a step: gradients are sent as they come.
  void watch_gradients(const Problem& problem, const Request& request);

  // ---- exchanges; in a step that is rehearsed there are none, and in one that is recorded none waits ----
  /// Whether any rank has failed: throws then.
  void agree(const std::exception_ptr& failure, at::Device device) const;
  /// Gradients and loss as those of the whole batch. A parameter that any rank has used has a gradient
  /// afterwards. Returns the loss; undefined if it was on every rank.
  at::Tensor average_gradients(const Problem& problem, const Request& request, const at::Tensor& loss,
                               const std::exception_ptr& failure);
  /// A loss alone.
  at::Tensor average_loss(const Request& request, const at::Tensor& loss, at::Device device) const;
  /// `count` losses from the first of these probes on, and f(w) `with_base`, as those of the whole batch. Or
  /// the probes are gathered from the ranks that evaluated them, with their slopes.
  void share_probes(const Numbers& numbers, const Request& request, std::int64_t first, std::int64_t count,
                    bool with_base, const std::exception_ptr& failure) const;
  /// In the first step and every so many: throws unless all ranks train the same by the same rules from the
  /// same weights. In the split form, before the update, the gradients too must be the same already.
  void compare(const Problem& problem, std::int64_t step, bool with_gradients = false);
  /// The next step is a first one, as after a load.
  void compare_again() {
    compared_.fill(-1);
    are_losses_compared_ = false;
  }
  /// Waits for work on a device that includes exchanges.
  void wait_until(const std::function<bool()>& is_done) const { group_->wait_until(is_done); }

 private:
  /// Sums the head of a message over the ranks, after the gradients that have not been sent, and waits for
  /// all. The head has room for what is said of failures.
  void exchange(const at::Tensor& head, const std::exception_ptr& failure, bool recorded = false,
                GradientSums* sums = nullptr, bool sends_zeros = false) const;

  std::shared_ptr<ProcessGroup> group_;
  GroupOptions options_;
  std::int64_t joins_ = 0;
  std::array<std::int64_t, 2> compared_{-1, -1};  // the last step, without gradients and with them
  bool are_losses_compared_ = false;              // where probes are shared: in the first step
  std::unique_ptr<GradientSums> sums_;            // under way
};

}  // namespace sadam::step
