#include "lab/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/statistics.h"

namespace sadam::lab {

double mean_over(std::span<const double> values, const std::vector<std::size_t>& some) {
  double total = 0;
  for (const auto i : some) total += values[i];
  return total / static_cast<double>(some.size());
}

Estimate mean_of(std::span<const double> values) {
  const double mean = base::mean(values);
  const double half = base::half_interval(values).value_or(0);
  return {mean, mean - half, mean + half};
}

Estimate share_of(std::size_t hits, std::size_t tries) {
  constexpr double kZ = base::kZ95;
  const auto n = static_cast<double>(tries);
  const double p = static_cast<double>(hits) / n;
  const double centre = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  // None or all: the end is reached but for rounding.
  return {p, hits == 0 ? 0 : centre - half, hits == tries ? 1 : centre + half};
}

double power(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::log(x[i]) - mean_x;
    products += apart * (std::log(y[i]) - mean_y);
    squares += apart * apart;
  }
  return products / squares;
}

Estimate over_seeds(std::size_t count, const SeedStatistic& statistic, std::uint64_t seed) {
  constexpr std::size_t kDraws = 200;
  std::vector<std::size_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), std::size_t{0});
  Estimate estimate(statistic(seeds));
  if (count < 2) return estimate;
  std::mt19937_64 generator(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < kDraws; ++i) {
    for (auto& each : seeds) each = generator() % count;
    values.push_back(statistic(seeds));
  }
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(kDraws - 1))];
  };
  estimate.low = std::min(estimate.value, at(0.025));
  estimate.high = std::max(estimate.value, at(0.975));
  return estimate;
}

}  // namespace sadam::lab
