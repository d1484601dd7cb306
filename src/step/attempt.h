// A step under way, and the way back from it.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "step/copies.h"
#include "step/forward_state.h"
#include "step/precision.h"
#include "step/problem.h"

namespace sadam::step {

/// The stream that work on a device goes to now.
inline c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

/// Lets one stream wait for what has been enqueued on another.
inline void join_streams(const c10::Stream& waiting, const c10::Stream& waited_for) {
  c10::Event event(waiting.device_type());
  event.record(waited_for);
  event.block(waiting);
}

/// Lanes with streams of their own: they begin where `mark` was last called, and are joined at the end.
class Fork {
 public:
  Fork(const Lanes& lanes, at::Device device) : lanes_(lanes), main_(current_stream(device)) { mark(); }
  ~Fork() {
    try {
      join();
    } catch (const std::exception&) {
      // a capture that is broken cannot be joined either
    }
  }
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

  void mark() {
    if (!has_streams()) return;
    ready_.emplace(main_.device_type());
    ready_->record(main_);
  }
  /// Before the first work on a lane.
  void enter(const Lane& lane) {
    if (!lane.stream || entered(lane)) return;
    ready_->block(*lane.stream);
    entered_.push_back(&lane);
  }
  void join() {
    for (const auto* lane : std::exchange(entered_, {})) join_streams(main_, *lane->stream);
  }
  /// Lets a lane wait for all that has been enqueued beside it.
  void catch_up(const Lane& lane) const {
    if (lane.stream) join_streams(*lane.stream, main_);
  }

 private:
  bool has_streams() const { return !lanes_.lanes.empty() && lanes_.lanes.front().stream.has_value(); }
  bool entered(const Lane& lane) const {
    return std::find(entered_.begin(), entered_.end(), &lane) != entered_.end();
  }

  const Lanes& lanes_;
  c10::Stream main_;
  std::optional<c10::Event> ready_;
  std::vector<const Lane*> entered_;
};

/// What a step finds before it and, unless it gets over its end, leaves behind: buffers and generators.
/// Gradients are cleared.
struct Attempt {
  Attempt(const Problem& problem, const Backend& backend, Lanes& lanes, at::Device device,
          std::unique_ptr<ForwardState> begun = nullptr)
      : before(begun ? std::move(*begun) : ForwardState(problem.buffers, backend)),
        fork(lanes, device),
        problem_(problem),
        backend_(backend) {
    lanes.next = 0;
  }
  ~Attempt() {
    if (is_over) return;
    try {
      fork.join();
      clear_gradients();
      before.draws.restore();
      before.restore_buffers(backend_);
      before.restore_replaced_buffers();
    } catch (const std::exception& error) {  // a destructor may not throw
      TORCH_WARN("sadam: buffers could not be put back after a step that failed: ", error.what());
    }
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void clear_gradients() const {
    for (const auto& parameter : problem_.parameters) parameter.mutable_grad().reset();
  }

  ForwardState before;
  Fork fork;
  std::optional<FullPrecision> precision;  ///< from the first probe on
  at::Tensor loss;                         ///< f(w) of the base evaluation
  bool is_watched = true;                  ///< what the base evaluation drew is known
  bool has_base = false;                   ///< f(w) as the probes see it is known
  double base_rounding = 0;                ///< of that
  bool is_over = false;

 private:
  const Problem& problem_;
  const Backend& backend_;
};

}  // namespace sadam::step
