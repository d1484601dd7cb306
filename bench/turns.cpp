#include "turns.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace sadam::bench {

std::map<std::string, Times> time_in_turns(const Variants& variants, int rounds, int calls) {
  Measurements measurements;
  for (const auto& [name, run] : variants)
    measurements.emplace_back(name, [&run, calls] { return seconds_of(run, calls); });
  return measure_in_turns(measurements, rounds);
}

double seconds_of(const std::function<void()>& run, int calls) {
  run();
  const auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < calls; ++call) run();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / calls;
}

std::map<std::string, Times> measure_in_turns(const Measurements& measurements, int rounds) {
  std::map<std::string, Times> times;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < measurements.size(); ++turn) {
      const auto& [name, measure] =
          measurements[(turn + static_cast<std::size_t>(round)) % measurements.size()];
      times[name].push_back(measure());
    }
  }
  return times;
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double fraction) {
    const double place = fraction * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - std::floor(place));
  };
  return {at(0.25), at(0.5), at(0.75)};
}

Spread ratio(const Times& a, const Times& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return spread_of(std::move(ratios));
}

}  // namespace sadam::bench
