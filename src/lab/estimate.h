// A number that was measured, with its 95 % interval; and what the long work of measuring is told.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/usage_error.h"

namespace sadam::lab {

struct Estimate {
  double value = 0, low = 0, high = 0;

  Estimate() = default;
  Estimate(double v, double l, double h) : value(v), low(l), high(h) {}
  /// A number without chance in it: a worst case that was found, an arithmetic.
  explicit Estimate(double exact) : Estimate(exact, exact, exact) {}
};

/// The mean of some of them, each as often as it is named.
double mean_over(std::span<const double> values, const std::vector<std::size_t>& some);

/// The mean, with Student's interval; the value alone where there is one.
Estimate mean_of(std::span<const double> values);

/// So many of so many, with Wilson's interval.
Estimate share_of(std::size_t hits, std::size_t tries);

/// The slope of the least-squares line through (log x, log y): the exponent of a power law.
double power(std::span<const double> x, std::span<const double> y);

/// A statistic of seeds 0 … count − 1, each as often as it is drawn, over 200 draws with replacement
/// (the bootstrap, percentiles); the value is that of all seeds, once each.
using SeedStatistic = std::function<double(const std::vector<std::size_t>& seeds)>;
Estimate over_seeds(std::size_t count, const SeedStatistic& statistic, std::uint64_t seed);

struct LongWork {
  bool quick = false;  ///< fewer seeds and points, shorter runs, lower dimensions
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;                     ///< set from elsewhere: stop at once
  std::function<void(const std::string&)> progress = nullptr;  ///< told what is being worked on

  /// One of two sizes.
  template <class Number>
  Number size(Number full, Number small) const {
    return quick ? small : full;
  }
  void say(const std::string& what) const {
    if (progress) progress(what);
  }
  /// Throws Interrupted if asked to stop; long loops call it.
  void check_stop() const {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Interrupted{};
  }
};

}  // namespace sadam::lab
