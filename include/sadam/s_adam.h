// S-Adam: Adam whose step is shortened by e^{−λρ}, where ρ measures how the loss varies between a few nearby
// probes.
#pragma once

#include <sadam/adamw.h>
#include <sadam/optimizer.h>
#include <sadam/s_adam_options.h>

#include <cstdint>
#include <memory>
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

namespace probe {
class ForwardState;
class Snapshot;
struct Loss;
}  // namespace probe

/// Singularity-aware Adam (S-Adam).
///
///     sadam::SAdam optimizer(*model, sadam::SAdamOptions(1e-3).probes(2).radius(0.01).damping(2.0));
///     for (auto& batch : *loader)
///       optimizer.step([&] { return cross_entropy(model->forward(batch.data), batch.target); });
///
/// The closure is evaluated 1 + k times in a step: once with gradients, then without at each probe. It
/// returns the loss and does nothing else. After the step, `summary()` has every number.
class SAdam : public Optimizer {
 public:
  /// All parameters of the module (tied ones once); its buffers are protected from the probes.
  explicit SAdam(const torch::nn::Module& module, const SAdamOptions& defaults = {});
  /// Given tensors. Call `protect` for buffers, if the model has any.
  explicit SAdam(std::vector<torch::Tensor> parameters, const SAdamOptions& defaults = {});
  /// Groups with their own learning rate, betas, ε, decay, λ, brake and bias correction.
  explicit SAdam(std::vector<torch::optim::OptimizerParamGroup> groups, const SAdamOptions& defaults = {});

  /// Moves, as torch's optimizers do; there is no copy.
  SAdam(SAdam&&) noexcept;
  ~SAdam() override;

  /// One step. Returns the loss of the base evaluation.
  torch::Tensor step(LossClosure closure = nullptr) override;

  // ---- the split form: for gradient clipping, accumulation and other loops --------------------------------
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
  /// `begin()`; without it (or without `begin()`) `probe` evaluates f(w) itself, with one more forward pass.
  /// The residual statistic and `Directions::step` read the parameters' gradients, which must then be those
  /// of this loss.
  Brakes probe(const LossClosure& loss_fn, const torch::Tensor& loss = {});

  /// Applies the update from the parameters' gradients with the brakes that `probe` returned, or one of the
  /// caller's.
  void step(const Brakes& brakes);
  /// One brake for all groups, for instance a constant as a control.
  void step(double brake);

  /// For `torch::save` and `torch::load`.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 protected:
  void check_options(const torch::optim::OptimizerOptions& options, const std::string& where) const override;

 private:
  friend struct optim::Access;

  /// A range of groups [first, last).
  struct Groups {
    std::size_t first;
    std::size_t last;
  };
  /// What is known about f when the probes begin.
  struct Base {
    const LossClosure& closure;
    const torch::Tensor& loss;           ///< f(w), undefined if the probe is to evaluate it
    const probe::ForwardState& before;   ///< as the evaluation of f(w) found it
    const probe::Loss* exact = nullptr;  ///< f(w) in the probes' precision, if known
  };

  const SAdamOptions& wide() const;
  const SAdamOptions& options_of(std::size_t group) const;
  Groups all_groups() const;
  static void check_values(const SAdamOptions& options, const std::string& where);
  static void check_combination(const SAdamOptions& whole);
  std::vector<double> lgi_of_all_groups() const;
  std::vector<double> latest_lgi() const;
  bool has_gradients() const;
  void prepare();
  bool probe_is_due(Groups groups) const;
  probe::Loss base_of(const Base& base);
  void run_probes(Groups groups, const Base& base);
  void set_brakes(Groups groups);
  void update(Groups groups);

  std::vector<double> last_lgi_;                // ρ of each group, kept between probes
  std::unique_ptr<probe::Snapshot> snapshot_;   // w₀: the one copy of the parameters
  std::unique_ptr<probe::ForwardState> begun_;  // recorded by begin()
  bool summary_is_open_ = false;                // probe() has begun the summary that step(brake) will finish
};

}  // namespace sadam
