// S-Adam: Adam whose step is shortened by e^{−λρ}, where ρ measures how the loss varies between a few nearby
// probes.
#pragma once

#include <sadam/adamw.h>
#include <sadam/optimizer.h>
#include <sadam/s_adam_options.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sadam {

/// What `SAdam` keeps for each parameter: the same as AdamW.
using SAdamParamState = AdamWParamState;

/// What a probe found: the brake of each group.
struct Brakes {
  double lgi = 0;                 ///< ρ, after the cap
  std::vector<double> per_group;  ///< α of each group

  /// The one brake, where all groups have the same λ and form; throws `sadam::Error` where they differ.
  operator double() const;  // NOLINT(google-explicit-constructor): `double brake = optimizer.probe(f)`
};

/// Singularity-aware Adam (S-Adam).
///
///     sadam::SAdam optimizer(*model, sadam::SAdamOptions(1e-3).probes(2).radius(0.01).damping(2.0));
///     for (auto& batch : *loader)
///       optimizer.step([&] { return cross_entropy(model->forward(batch.data), batch.target); });
///
/// The closure is evaluated 1 + k times in a step: once with gradients, then without at each probe (and twice
/// or three times more in the first step that probes, which is checked). It returns the loss and does nothing
/// else. After the step, `summary()` has every number.
class SAdam : public OptimizerOf<SAdamOptions, SAdamParamState> {
 public:
  using OptimizerOf::OptimizerOf;

  using Optimizer::step;
  /// One step. Returns the loss of the base evaluation.
  torch::Tensor step(LossClosure closure = nullptr) override;

  // ---- the split form: for loops that own the backward pass -----------------------------------------------
  //
  //     optimizer.begin();                                   // before the forward pass
  //     optimizer.zero_grad();
  //     auto loss = loss_fn();
  //     loss.backward();
  //     auto brake = optimizer.probe(loss_fn, loss);         // before clipping
  //     torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
  //     optimizer.step(brake);

  /// Records the random generator and the buffers, so that `probe` can replay the forward pass that follows.
  void begin();

  /// Probes around the current weights and returns the brake. `loss` is f(w) from the forward pass after
  /// `begin()`; without it (or without `begin()`, or if torch autocast in that forward pass) `probe`
  /// evaluates f(w) itself, with one more forward pass.
  /// The residual statistic and `Directions::step` read the parameters' gradients, which must then be those
  /// of this loss. Each call moves a brake that is held: call it once a step.
  Brakes probe(const LossClosure& loss_fn, const torch::Tensor& loss = {});
  /// The same for a loss in parts that add up, as with accumulated gradients: they are evaluated in this
  /// order. (In `f(0) + f(1)` C++ may evaluate either first, and draw their dropout masks the other way
  /// round.)
  Brakes probe(const std::vector<LossClosure>& parts, const torch::Tensor& loss = {});
  Brakes probe(std::initializer_list<LossClosure> parts, const torch::Tensor& loss = {});

  /// Applies the update from the parameters' gradients with the brakes that `probe` returned, or one of the
  /// caller's.
  void step(const Brakes& brakes);
  /// One brake for all groups, for instance a constant as a control.
  void step(double brake);

  /// What `torch::save` calls.
  void save(torch::serialize::OutputArchive& archive) const override;

 protected:
  /// What each group remembers from step to step; waits.
  std::vector<kernels::GroupMemory> memory() const;
  std::vector<kernels::GroupMemory> accept(
      torch::serialize::InputArchive& archive, torch::optim::OptimizerOptions& defaults,
      const std::vector<std::unique_ptr<torch::optim::OptimizerOptions>>& options) const override;
};

extern template class OptimizerOf<SAdamOptions, SAdamParamState>;

}  // namespace sadam
