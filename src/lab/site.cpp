#include "lab/site.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "kernels/lgi.h"
#include "lab/landscape.h"

namespace sadam::lab {

Site site_of(const std::string& landscape, std::size_t dimensions, bool at_minimiser) {
  auto f = make_landscape(landscape, dimensions);
  auto at = at_minimiser ? *f.minimiser : f.start;
  return {fmt::format("{}, {}", landscape, at_minimiser ? "minimiser" : "start"),
          [f = std::move(f)](const Point& x) { return f.value(x); }, std::move(at)};
}

Population look_around(const Site& site, std::size_t directions, std::uint64_t seed,
                       const LongWork& options) {
  constexpr std::uint32_t kAtOnce = 1000;
  Directional walk(site.at.size(), seed);
  const double base = site.f(site.at);
  Population all;
  for (std::size_t i = 0; i < directions; ++i) {
    if (i % kAtOnce == 0) options.check_stop();
    const auto& there = walk.from(site.at, kPaperRadius, static_cast<std::int64_t>(i / kAtOnce),
                                  static_cast<std::uint32_t>(i % kAtOnce));
    const double d = (site.f(there) - base) / kPaperRadius;
    all.mean += d / static_cast<double>(directions);
    all.mean_square += d * d / static_cast<double>(directions);
    all.largest = std::max(all.largest, std::fabs(d));
  }
  return all;
}

Estimate population_lgi(const Site& site, std::size_t directions, double eps, const LongWork& options) {
  constexpr std::size_t kParts = 8;
  std::vector<double> values;
  for (std::size_t i = 0; i < kParts; ++i)
    values.push_back(look_around(site, directions / kParts, options.seed + 1000 + i, options).lgi(eps));
  return mean_of(values);
}

std::vector<double> sampled_lgi(const Site& site, std::int64_t k, std::size_t trials, double eps,
                                const LongWork& options) {
  std::vector<double> values;
  for (std::size_t i = 0; i < trials; ++i) {
    options.check_stop();
    const auto d =
        differences(site.f, site.at, kPaperRadius, k, options.seed + 77, static_cast<std::int64_t>(i));
    values.push_back(kernels::lgi_of(Statistic::variance, {d.data(), nullptr, k}, eps));
  }
  return values;
}

}  // namespace sadam::lab
