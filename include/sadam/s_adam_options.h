// Every option of S-Adam. docs/options.md has the long form: symbol in the paper, default, when not to use
// it.
#pragma once

#include <sadam/bias_correction.h>
#include <sadam/brake.h>
#include <sadam/directions.h>
#include <sadam/statistic.h>
#include <torch/arg.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace sadam {

/// An option that belongs to the whole optimizer, because one probe serves all groups. It remembers whether
/// it was set, so that the options of a group may leave it alone; a group that sets another value is refused.
template <class T>
struct OptimizerWide {
  T value;
  bool set = false;
};

#define SADAM_OPTIMIZER_WIDE(T, name, ...)        \
 public:                                          \
  SAdamOptions& name(T new_value) {               \
    name##_ = {std::move(new_value), true};       \
    return *this;                                 \
  }                                               \
  const T& name() const { return name##_.value; } \
                                                  \
 private:                                         \
  OptimizerWide<T> name##_ { __VA_ARGS__ }

/// Options of `SAdam`. Defaults: the paper's hyperparameters with AdamW's bias correction, so that without a
/// brake (λ = 0, or k = 1 with a variance statistic) it is AdamW, bit for bit.
struct SAdamOptions : public torch::optim::OptimizerCloneableOptions<SAdamOptions> {
  /// From the learning rate, as torch's options.
  /* implicit */ SAdamOptions(double lr = 1e-3);

  /// The paper's Algorithm 1: no bias correction, everything else as by default.
  static SAdamOptions paper(double lr = 1e-3);
  /// The authors' published code: a unit vector per tensor, variance with 1/(k−1), fresh masks, its own bias
  /// correction, groups probed and updated one by one.
  static SAdamOptions reference(double lr = 1e-3);

  // ---- of a group -----------------------------------------------------------------------------------------
  /// Learning rate η, at least 0. The brake is never written into it.
  TORCH_ARG(double, lr) = 1e-3;
  /// β1 and β2.
  typedef std::tuple<double, double> betas_t;
  /// Decay rates of the averages of the gradient and of its square, each in [0, 1).
  TORCH_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  /// Adam's ε, added to the root of the second moment.
  TORCH_ARG(double, eps) = 1e-8;
  /// Decoupled weight decay: w ← (1 − lr·decay)·w before the step.
  TORCH_ARG(double, weight_decay) = 1e-2;
  /// λ: how hard ρ brakes, at least 0. At 0 no probe is evaluated, unless `monitor` asks for it.
  TORCH_ARG(double, damping) = 2.0;
  /// The form of the brake.
  TORCH_ARG(Brake, brake) = Brake::exponential;
  /// The form of bias correction.
  TORCH_ARG(BiasCorrection, bias_correction) = BiasCorrection::adamw;
  /// Multiplies the weight decay by the brake too. The authors do not.
  TORCH_ARG(bool, damp_weight_decay) = false;
  /// Not supported: `true` is refused with a sentence.
  TORCH_ARG(bool, amsgrad) = false;

  // ---- of the optimizer -----------------------------------------------------------------------------------
  /// k: probes in a step, 1 to 65535. Each costs a forward pass.
  SADAM_OPTIMIZER_WIDE(std::int64_t, probes, 2);
  /// δ: how far from the weights the probes look.
  SADAM_OPTIMIZER_WIDE(double, radius, 0.01);
  /// The law of the directions.
  SADAM_OPTIMIZER_WIDE(Directions, directions, Directions::sphere);
  /// A caller's own directions; overrides `directions` when set. Not saved: set it again before loading.
 public:
  SAdamOptions& source(DirectionSource new_source);
  const DirectionSource& source() const { return *source_.value; }

 private:
  // Shared, so that copies of the options are known to hold the same source: functions cannot be compared.
  OptimizerWide<std::shared_ptr<const DirectionSource>> source_{std::make_shared<const DirectionSource>()};

  /// The formula for ρ.
  SADAM_OPTIMIZER_WIDE(Statistic, statistic, Statistic::variance);
  /// Whether all evaluations of a step see the same function.
  SADAM_OPTIMIZER_WIDE(ProbeNoise, noise, ProbeNoise::shared);
  /// The LGI's ε, at least 0.
  SADAM_OPTIMIZER_WIDE(double, lgi_eps, 1e-6);
  /// ρ is cut off here, above 0. As in the paper's table; the statistics here reach at most 2.
  SADAM_OPTIMIZER_WIDE(double, cap, 10.0);
  /// Probes every n-th step, skipped ones counted, and keeps the last ρ between.
  SADAM_OPTIMIZER_WIDE(std::int64_t, interval, 1);
  /// Seeds the directions. Apart from torch's generators, so that probing does not disturb them; for several
  /// seeds of a run set this beside `torch::manual_seed`, which does not reach it.
  SADAM_OPTIMIZER_WIDE(std::uint64_t, seed, 0);
  /// Probes and updates the groups one after the other, each with its own ρ, as the authors' code does.
  SADAM_OPTIMIZER_WIDE(bool, group_by_group, false);
  /// Probes even where λ = 0, to watch ρ without using it.
  SADAM_OPTIMIZER_WIDE(bool, monitor, false);

 public:
  /// Reads from and writes to an archive; called by the optimizer's `load` and `save`.
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  /// Equal in every option; of two direction sources, that both or neither are set.
  friend bool operator==(const SAdamOptions& lhs, const SAdamOptions& rhs);
  /// What torch's schedulers call.
  double get_lr() const override;
  // NOLINTNEXTLINE(readability-avoid-const-params-in-decls): torch's own signature
  void set_lr(const double lr) override;

  /// The name of an optimizer-wide option that was set here to another value than in `whole`, or "" if there
  /// is none.
  std::string conflict_with(const SAdamOptions& whole) const;
  /// Takes over the optimizer-wide options of `whole` as not set.
  void inherit_from(const SAdamOptions& whole);
};

#undef SADAM_OPTIMIZER_WIDE

}  // namespace sadam
