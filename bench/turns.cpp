#include "turns.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace sadam::bench {

std::map<std::string, Times> time_in_turns(const Variants& variants, int rounds, int calls) {
  std::map<std::string, Times> times;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < variants.size(); ++turn) {
      const auto& [name, run] = variants[(turn + static_cast<std::size_t>(round)) % variants.size()];
      run();
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < calls; ++call) run();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      times[name].push_back(taken.count() / calls);
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
