// Every option of every optimizer, one entry each.
//
// From these lists come the setters and their defaults, the checks, the comparison, the archive, the fields
// of a recipe and the tables of docs/options.md. To add an option, add its entry and use it.
//
// OPTION(type, name, default, allowed values, meaning)
#pragma once

#include <limits>

namespace sadam {

/// What an option may be set to. Yes or no and names have no range.
struct OptionRange {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool with_low = true;
  bool with_high = true;
  bool infinite = false;  ///< infinity is allowed too
};

/// An option as the lists describe it.
struct OptionInfo {
  const char* name;
  OptionRange range;
  const char* meaning;  ///< a sentence without its full stop
};

/// For choices, yes or no.
inline constexpr OptionRange kAnyValue{-std::numeric_limits<double>::infinity()};
inline constexpr OptionRange kAtLeastZero{};
inline constexpr OptionRange kAtLeastOne{1};
inline constexpr OptionRange kAboveZero{0, std::numeric_limits<double>::infinity(), false};
inline constexpr OptionRange kAboveZeroOrInfinite{0, std::numeric_limits<double>::infinity(), false, true,
                                                  true};
inline constexpr OptionRange kBelowOne{0, 1, true, false};
inline constexpr OptionRange kUpToOne{0, 1};
inline constexpr OptionRange kProbeCount{1, 65535};

/// The usual learning rates of Adam and of Prox-SGD.
inline constexpr double kAdamLearningRate = 1e-3;
inline constexpr double kProxLearningRate = 1e-2;

}  // namespace sadam

// clang-format off

/// Of every optimizer.
#define SADAM_LEARNING_RATE(OPTION, usual)                                                                   \
  OPTION(double, lr, usual, kAtLeastZero, "Learning rate η")

/// Of AdamW and S-Adam.
#define SADAM_ADAM_OPTIONS(OPTION)                                                                           \
  OPTION(double, beta1, 0.9, kBelowOne, "β1, decay rate of the average of the gradient")                     \
  OPTION(double, beta2, 0.999, kBelowOne, "β2, decay rate of the average of its square")                     \
  OPTION(double, eps, 1e-8, kAtLeastZero, "Adam's ε, added to the root of the second moment")                \
  OPTION(double, weight_decay, 1e-2, kAtLeastZero, "Decoupled weight decay: w ← (1 − lr·decay)·w")

/// Of S-Adam; each group may have its own.
#define SADAM_BRAKE_OPTIONS(OPTION)                                                                          \
  OPTION(double, damping, 2.0, kAtLeastZero, "λ, how hard ρ brakes; at 0 S-Adam is AdamW")                   \
  OPTION(Brake, brake, Brake::exponential, kAnyValue, "How ρ becomes a brake")                               \
  OPTION(double, target, 0.5, kUpToOne, "The ρ that the brake `held` steers to")                             \
  OPTION(double, ceiling, 1.0, kAboveZero, "The largest brake of `held`; above 1 it may lengthen steps")     \
  OPTION(BiasCorrection, bias_correction, BiasCorrection::adamw, kAnyValue,                                  \
         "How the zero start of the averages is made up for")                                                \
  OPTION(bool, damp_weight_decay, false, kAnyValue, "Multiplies the weight decay by the brake too")

/// Of S-Adam as a whole: one probe serves all groups.
#define SADAM_PROBE_OPTIONS(OPTION)                                                                          \
  OPTION(std::int64_t, probes, 2, kProbeCount, "k, probes in a step; each is a forward pass")                \
  OPTION(double, radius, 0.01, kAboveZero, "δ, how far from the weights the probes look")                    \
  OPTION(Directions, directions, Directions::sphere, kAnyValue, "Where the probes look")                     \
  OPTION(Statistic, statistic, Statistic::variance, kAnyValue, "The formula of ρ")                           \
  OPTION(ProbeNoise, noise, ProbeNoise::shared, kAnyValue,                                                   \
         "Whether probes see the step's dropout masks or draw their own")                                    \
  OPTION(double, lgi_eps, 1e-6, kAtLeastZero, "The ε of ρ, which keeps it small where the loss is flat")     \
  OPTION(double, cap, 10.0, kAboveZeroOrInfinite, "ρ is cut off here")                                       \
  OPTION(std::int64_t, interval, 1, kAtLeastOne, "Probe every so many steps, and keep ρ between")            \
  OPTION(bool, group_by_group, false, kAnyValue, "Probe and update the groups one after the other")          \
  OPTION(bool, monitor, false, kAnyValue, "Probe even where λ = 0, to watch ρ without using it")

/// Of every optimizer as a whole. A recipe has one seed for everything, so this is not a field of its own there.
#define SADAM_SEED_OPTION(OPTION)                                                                            \
  OPTION(std::uint64_t, seed, 0, kAtLeastZero, "Seeds the directions; manual_seed does not reach it")

/// Of AdamW and Prox-SGD as a whole: one evaluation serves all groups.
#define SADAM_GRADIENT_OPTIONS(OPTION)                                                                       \
  OPTION(GradientAt, gradient_at, GradientAt::weights, kAnyValue, "Where the gradient is taken")             \
  OPTION(double, gradient_radius, 0.05, kAboveZero, "r, how far from the weights that is")

/// Of AdamW: AdaBound.
#define SADAM_BOUND_OPTIONS(OPTION)                                                                          \
  OPTION(double, final_ratio, 0.0, kAtLeastZero,                                                             \
         "Step sizes are bound ever closer to this multiple of lr; 0: they are free")                        \
  OPTION(double, bound_gamma, 1e-3, kAboveZero, "γ, how fast the bounds close")

/// Of Prox-SGD.
#define SADAM_PROX_OPTIONS(OPTION)                                                                           \
  OPTION(double, momentum, 0.9, kBelowOne, "Heavy-ball momentum")                                            \
  OPTION(double, l1, 1e-4, kAtLeastZero, "Weight of the L1 penalty; soft threshold lr·l1")

// ---- presets of S-Adam: what differs from the defaults. SET(name, value) ------------------------------------

/// The paper's Algorithm 1.
#define SADAM_PAPER_PRESET(SET) SET(bias_correction, BiasCorrection::none)

/// The authors' published code.
#define SADAM_REFERENCE_PRESET(SET)                                                                          \
  SET(bias_correction, BiasCorrection::reference)                                                            \
  SET(directions, Directions::per_tensor)                                                                    \
  SET(statistic, Statistic::unbiased_variance)                                                               \
  SET(noise, ProbeNoise::fresh)                                                                              \
  SET(group_by_group, true)

// clang-format on
