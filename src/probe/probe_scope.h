// The span in which weights are not where the user left them.
#pragma once

#include <optional>
#include <vector>

#include "forward_state.h"
#include "loss.h"
#include "precision.h"
#include "snapshot.h"

namespace sadam::probe {

/// From its construction to its end the parameters may be moved and the loss evaluated; afterwards the
/// weights, and under shared noise the protected buffers and the random generator, are bit for bit as they
/// were, also when the closure throws.
class ProbeScope {
 public:
  /// `replay` is the state that each evaluation starts from; null for fresh noise, where evaluations draw
  /// their own random numbers and write to the buffers.
  ProbeScope(Snapshot& snapshot, const std::vector<Parameter>& parameters, const ForwardState* replay,
             const std::vector<at::Tensor>& buffers);
  ~ProbeScope();
  ProbeScope(const ProbeScope&) = delete;
  ProbeScope& operator=(const ProbeScope&) = delete;

  /// f at the weights as they are now: no graph, full precision.
  Loss evaluate(const LossClosure& closure) const;

  /// Whether training runs in reduced precision, so that its f(w) is not the function that `evaluate` sees.
  bool training_is_reduced() const { return precision_.was_reduced(); }

 private:
  Snapshot& snapshot_;
  const ForwardState* replay_;
  std::optional<ForwardState> after_;  // as the base evaluation left it
  FullPrecision precision_;
};

}  // namespace sadam::probe
