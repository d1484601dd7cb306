// The span in which a module sees other weights than its own.
#pragma once

#include <functional>
#include <vector>

#include "step/copies.h"
#include "step/forward_state.h"
#include "step/loss.h"
#include "step/passes.h"

namespace sadam::step {

/// One evaluation of the loss at weights that lie in a lane's copies. The module's own weights and, under
/// shared noise, its buffers and the random generators are bit for bit as before once it is over, also when
/// the loss throws. With an in-place lane it is the other way round: the copies keep w₀, and the module's own
/// memory is moved and put back.
class ProbeScope {
 public:
  /// `groups` are those that move. `replay` is the state that the evaluation starts from; null for fresh
  /// noise, where it draws its own random numbers and writes to the buffers.
  ProbeScope(const Backend& backend, Lane& lane, bool in_place, const Items& items, GroupRange groups,
             const ForwardState* replay);
  /// The same once more, after that one's evaluation.
  ProbeScope(const ProbeScope& other, bool in_place, const ForwardState* replay)
      : ProbeScope(other.backend_, other.lane_, in_place, other.items_, other.groups_, replay) {}
  ~ProbeScope();
  ProbeScope(const ProbeScope&) = delete;
  ProbeScope& operator=(const ProbeScope&) = delete;

  /// Where the moved weights are made from and where they go.
  const Target& target() const { return target_; }

  /// f at the weights themselves, from another state.
  at::Tensor evaluate_unmoved(const std::vector<LossClosure>& parts, const ForwardState& from) const {
    return ProbeScope(backend_, lane_, false, items_, {}, &from).evaluate(parts);
  }

  const Lane& lane() const { return lane_; }
  bool is_in_place() const { return in_place_; }
  bool is_replayed() const { return replay_ != nullptr; }

  /// f there: the sum of the parts, no graph.
  at::Tensor evaluate(const std::vector<LossClosure>& parts) const;
  /// Lets `work` see the moved weights and, with `replay`, begin where that state was.
  void show(const std::function<void()>& work) const;

 private:
  const Backend& backend_;
  Lane& lane_;
  bool in_place_;
  const Items& items_;
  GroupRange groups_;
  const ForwardState* replay_;
  Target target_;
};

}  // namespace sadam::step
