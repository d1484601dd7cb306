// Ranks: what is left of numbers when only their order counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace sadam::base {

/// From 1; equal numbers share the mean of their ranks.
inline std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double shared = static_cast<double>(i + 1 + end) / 2;
    for (; i < end; ++i) ranks[order[i]] = shared;
  }
  return ranks;
}

}  // namespace sadam::base
