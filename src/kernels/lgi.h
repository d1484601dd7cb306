// ρ from the differences between probes, and the brake from ρ: a handful of numbers, in double, by the same
// text on the host and on the GPU.
#pragma once

#include <sadam/choices.h>

#include <cmath>
#include <cstdint>

#include "kernels/math.h"

namespace sadam::kernels {

/// k differences D_i and, for `residual`, k slopes.
struct ProbeNumbers {
  const double* differences = nullptr;
  const double* slopes = nullptr;
  std::int64_t count = 0;
};

SADAM_HD bool all_finite(const double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if (!(std::fabs(values[i]) <= 1.7976931348623157e308)) return false;
  return true;
}

SADAM_HD double largest_magnitude(const double* values, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::fmax(largest, std::fabs(values[i]));
  return largest;
}

// All statistics are ratios of squares. The values are divided by the largest first, and ε by its square, so
// that no square over- or underflows: ρ is unchanged by the unit in which the loss is measured, ε apart.
SADAM_HD double variance_ratio(const ProbeNumbers& p, double divisor, double eps) {
  const double scale = largest_magnitude(p.differences, p.count);
  if (scale == 0) return 0;
  const auto k = static_cast<double>(p.count);
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < p.count; ++i) {
    const double d = p.differences[i] / scale;
    sum += d;
    squares += d * d;
  }
  double spread = 0;
  for (std::int64_t i = 0; i < p.count; ++i) {
    const double d = p.differences[i] / scale - sum / k;
    spread += d * d;
  }
  spread = std::fmin(spread, squares);  // true but for rounding, and what keeps ρ below its bound
  return spread / divisor / (squares / k + eps / scale / scale);
}

SADAM_HD double residual_ratio(const ProbeNumbers& p, double eps) {
  const double scale =
      std::fmax(largest_magnitude(p.differences, p.count), largest_magnitude(p.slopes, p.count));
  if (scale == 0) return 0;
  const auto k = static_cast<double>(p.count);
  double residuals = 0;
  double explained = 0;
  for (std::int64_t i = 0; i < p.count; ++i) {
    const double s = p.slopes[i] / scale;
    const double r = p.differences[i] / scale - s;
    residuals += r * r;
    explained += s * s;
  }
  return residuals / k / (residuals / k + explained / k + eps / scale / scale);
}

// Each statistic by its name. What is not finite gives the largest value.

SADAM_HD double variance_lgi(const ProbeNumbers& p, double eps) {
  return all_finite(p.differences, p.count) ? variance_ratio(p, static_cast<double>(p.count), eps) : 1;
}

SADAM_HD double unbiased_variance_lgi(const ProbeNumbers& p, double eps) {
  const auto k = static_cast<double>(p.count);
  if (!all_finite(p.differences, p.count)) return p.count > 1 ? k / (k - 1) : 1;
  return p.count > 1 ? variance_ratio(p, k - 1, eps) : 0;
}

SADAM_HD double residual_lgi(const ProbeNumbers& p, double eps) {
  return all_finite(p.differences, p.count) && all_finite(p.slopes, p.count) ? residual_ratio(p, eps) : 1;
}

/// Whether a statistic reads the slopes.
SADAM_HD bool reads_slopes(Statistic statistic) {
#define SADAM_CASE(name, meaning, reads) \
  case Statistic::name:                  \
    return reads;
  switch (statistic) { SADAM_STATISTICS(SADAM_CASE) }
#undef SADAM_CASE
  return false;  // no statistic at all
}

/// ρ before the cap; see `sadam::lgi`.
SADAM_HD double lgi_of(Statistic statistic, const ProbeNumbers& p, double eps) {
#define SADAM_CASE(name, ...) \
  case Statistic::name:       \
    return name##_lgi(p, eps);
  switch (statistic) { SADAM_STATISTICS(SADAM_CASE) }
#undef SADAM_CASE
  return std::nan("");  // no statistic at all
}

/// ρ of the probe along Adam's own step; see `sadam::step_lgi`.
SADAM_HD double step_lgi_of(double change, double slope) {
  if (!all_finite(&change, 1) || !all_finite(&slope, 1)) return 1;
  const double residual = std::fabs(change - slope);
  return residual / (residual + std::fabs(slope) + 1e-12);
}

// Each brake by its name.

SADAM_HD double exponential_brake(double damping, double lgi, const HeldBrake& /*unused*/) {
  return std::exp(-damping * lgi);
}
SADAM_HD double proximal_brake(double damping, double lgi, const HeldBrake& /*unused*/) {
  return 1 / (1 + damping * lgi);
}
SADAM_HD double held_brake(double damping, double lgi, const HeldBrake& held) {
  // Along steps that are nothing but rounding ρ says nothing, so α must not get lost there.
  constexpr double kLeast = 1e-3;
  return std::fmin(held.ceiling, std::fmax(kLeast, held.last * std::exp(damping * (held.target - lgi))));
}

/// α; see `sadam::brake`.
SADAM_HD double brake_of(Brake form, double damping, double lgi, const HeldBrake& held = {}) {
#define SADAM_CASE(name, ...) \
  case Brake::name:           \
    return name##_brake(damping, lgi, held);
  switch (form) { SADAM_BRAKES(SADAM_CASE) }
#undef SADAM_CASE
  return std::nan("");  // no brake at all
}

}  // namespace sadam::kernels
