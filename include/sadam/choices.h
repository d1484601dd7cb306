// The options that are a choice between named forms, and the formulas behind them.
//
// Each list is the whole of its family: VALUE(name, meaning). Names in files and messages, the fields of a
// recipe and the tables of docs/options.md come from it. A new brake is an entry and its formula
// `<name>_brake` in src/kernels/lgi.h; a new statistic an entry and `<name>_lgi` there.
#pragma once

#include <string>
#include <vector>

namespace sadam {

// clang-format off
#define SADAM_ENUMERATOR(name, ...) name,

#define SADAM_DIRECTIONS(VALUE)                                                                              \
  VALUE(sphere, "a random unit vector over all parameters together: the paper")                              \
  VALUE(per_tensor, "a random unit vector for each tensor, so that ‖u‖ = √(tensors): the authors' code")     \
  VALUE(rademacher, "±1/√d with random signs: a unit vector too, and one random bit an element")             \
  VALUE(step, "the step Adam is about to take: one probe, residual only, probes and radius unused")

/// Where the probes look. No direction is ever stored: all are regenerated from (seed, step, probe, element).
enum class Directions { SADAM_DIRECTIONS(SADAM_ENUMERATOR) };

// With whether its formula reads the slopes.
#define SADAM_STATISTICS(VALUE)                                                                              \
  VALUE(variance, "Var(D)/(mean(D²) + ε), Var with 1/k: the paper; about 1 − 1/k on a linear loss", false)   \
  VALUE(unbiased_variance, "the same with 1/(k−1): the authors' code; 0 for k = 1, at most k/(k−1)", false)  \
  VALUE(residual, "mean(R²)/(mean(R²) + mean(s²) + ε), R = D − s, s = ⟨g,u⟩: 0 on a linear loss", true)

/// The formula of ρ, from D_i = (f(w + δu_i) − f(w)) / δ and, for `residual`, the slopes s_i = ⟨g, u_i⟩.
/// Where the gradient dominates, the two variances measure k and not the geometry; `residual` is near 1 where
/// the gradient does not predict the loss nearby, and costs no extra forward pass.
enum class Statistic { SADAM_STATISTICS(SADAM_ENUMERATOR) };

#define SADAM_BRAKES(VALUE)                                                                                  \
  VALUE(exponential, "e^(−λρ): Algorithm 1 of the paper")                                                    \
  VALUE(proximal, "1/(1 + λρ): the proximal step of the paper's Appendix D; softer for large λρ")            \
  VALUE(held, "α·e^(λ(target − ρ)) from the last α: keeps ρ near the target; with `Directions::step` only")

/// How ρ becomes the brake α, by which the step (not the stored learning rate) is multiplied. Under `held` the
/// probe looks along the step as the last α leaves it, so that ρ answers to α.
enum class Brake { SADAM_BRAKES(SADAM_ENUMERATOR) };

#define SADAM_PROBE_NOISES(VALUE)                                                                            \
  VALUE(shared, "one function: probes replay the dropout masks and leave batch-norm statistics alone")       \
  VALUE(fresh, "every probe draws masks and updates the statistics anew: the authors' code")

/// Which f the probes evaluate. Under `shared` each starts from the base evaluation's random numbers and
/// buffers, and afterwards both stand as the base evaluation left them. Under `fresh` probes differ mostly by
/// their masks.
enum class ProbeNoise { SADAM_PROBE_NOISES(SADAM_ENUMERATOR) };

#define SADAM_BIAS_CORRECTIONS(VALUE)                                                                        \
  VALUE(adamw, "m/(1−β1ᵗ) over √(v/(1−β2ᵗ)) + ε, as torch's AdamW")                                          \
  VALUE(reference, "step lr·√(1−β2ᵗ)/(1−β1ᵗ), ε added to the uncorrected √v: the authors' code")             \
  VALUE(none, "m over √v + ε: Algorithm 1 of the paper; the first steps are several times longer")

/// How the zero start of Adam's averages is made up for; t counts the updates.
enum class BiasCorrection { SADAM_BIAS_CORRECTIONS(SADAM_ENUMERATOR) };

#define SADAM_GRADIENT_PLACES(VALUE)                                                                         \
  VALUE(weights, "at the weights w, as ever")                                                                \
  VALUE(ascent, "at w + r·g/‖g‖, uphill: SAM; two evaluations a step")                                       \
  VALUE(adaptive_ascent, "at w + r·T²g/‖Tg‖, T = abs(w) + 0.01 elementwise: ASAM; two evaluations a step")   \
  VALUE(nearby, "at w + r·u, u a random unit vector: randomized smoothing; one evaluation, there")

/// Where AdamW and ProxSGD take the gradient that they use at w. docs/rivals.md says what each is good for.
enum class GradientAt { SADAM_GRADIENT_PLACES(SADAM_ENUMERATOR) };

#define SADAM_SPLITS(VALUE)                                                                                  \
  VALUE(batch, "each rank has a part of the batch: gradients and losses are averaged over the ranks")        \
  VALUE(probes, "each rank has the whole batch and the same masks, and evaluates some of the probes")

/// What processes that train together share out in a step.
enum class Split { SADAM_SPLITS(SADAM_ENUMERATOR) };
// clang-format on

/// ρ from k differences, before the cap. `slopes` is read by `residual` only, and then has k entries.
/// A difference (or slope) that is not finite makes ρ its largest value: 1, or k/(k−1) for
/// `unbiased_variance`.
double lgi(Statistic statistic, const std::vector<double>& differences, const std::vector<double>& slopes,
           double eps);

/// ρ of the one probe along Adam's own step Δ: |R| / (|R| + |slope| + 1e-12), R = change − slope, where
/// change = f(w + Δ) − f(w) and slope = ⟨g, Δ⟩. 1 if either is not finite.
double step_lgi(double change, double slope);

/// What the form `held` needs beside λ and ρ.
struct HeldBrake {
  double last = 1;  ///< the α before
  double target = 0.5;
  double ceiling = 1;
};

/// α for one ρ. With 0 ≤ ρ < 1 the exponential form lies in (e^{−λ}, 1], and the held one between 0.001 and
/// its ceiling.
double brake(Brake form, double damping, double lgi, const HeldBrake& held = {});

/// The names used in files and messages: "variance", "exponential", …
std::string to_string(Directions directions);
std::string to_string(Statistic statistic);
std::string to_string(Brake form);
std::string to_string(ProbeNoise noise);
std::string to_string(BiasCorrection correction);
std::string to_string(GradientAt place);

}  // namespace sadam
