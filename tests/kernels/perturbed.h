// A perturbation through the public kernel, in pieces.
#pragma once

#include "kernels/every_target.h"

namespace sadam::kernels {

/// base + scale·z, made as one segment for each two neighbours in `cuts`.
template <class T>
std::vector<T> perturbed(const DirectionKey& key, const std::vector<T>& base, Distribution distribution,
                         std::uint64_t first, double scale, const std::vector<std::int64_t>& cuts,
                         int threads) {
  Unaligned<T> from(base), to(std::vector<T>(base.size(), T{99}));
  Perturb<T> launch;
  const auto step = static_cast<std::int64_t>(key.step);
  launch.direction = {key.seed, &step, key.probe};
  launch.distribution = distribution;
  launch.scale = scale;
  launch.place.threads = threads;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    launch.segments.push_back({to.data() + cuts[k], from.data() + cuts[k], cuts[k + 1] - cuts[k],
                               first + static_cast<std::uint64_t>(cuts[k]), nullptr});
  }
  cpu_kernels().of<T>().perturb(launch);
  EXPECT_EQ(from.values(), base);
  return to.values();
}

/// z itself, of elements [first, first + count): a perturbation of zeros by one.
template <class T>
std::vector<T> generated(const DirectionKey& key, Distribution distribution, std::uint64_t first,
                         std::int64_t count) {
  const std::vector<T> zeros(static_cast<std::size_t>(count));
  return perturbed(key, zeros, distribution, first, 1, {0, count}, 1);
}

}  // namespace sadam::kernels
