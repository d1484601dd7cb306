#include "lab/small_net.h"

#include <algorithm>
#include <cmath>

namespace sadam::lab {

Examples draw_examples(std::size_t count, std::mt19937_64& generator) {
  std::normal_distribution<double> normal;
  Examples all(count);
  for (auto& [x, y] : all) {
    x.resize(SmallNet::kFeatures);
    for (auto& each : x) each = normal(generator);
    y = x[0] - x[1] + 0.5 * std::fabs(x[2]) > 0.2 ? 1 : -1;
    if (generator() % 10 == 0) y = -y;
  }
  return all;
}

Point SmallNet::start(std::uint64_t seed) const {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  Point w(size());
  for (auto& each : w) each = 0.5 * normal(generator);
  return w;
}

double SmallNet::before_relu(const double* unit, const Point& x) {
  double total = unit[kFeatures];
  for (std::size_t i = 0; i < kFeatures; ++i) total += unit[i] * x[i];
  return total;
}

double SmallNet::output(const Point& w, const Point& x) const {
  if (hidden_ == 0) return dot(w, x);
  double total = 0;
  for (std::size_t j = 0; j < hidden_; ++j)
    total += w[j * kUnit + kFeatures + 1] * std::max(0.0, before_relu(w.data() + j * kUnit, x));
  return total;
}

double SmallNet::loss(const Point& w, const Example& one) const {
  const double margin = one.y * output(w, one.x);
  return std::max(-margin, 0.0) + std::log1p(std::exp(-std::fabs(margin)));
}

void SmallNet::add_gradient(const Point& w, const Example& one, double factor, Point& total) const {
  const double slope = -one.y / (1 + std::exp(one.y * output(w, one.x))) * factor;
  if (hidden_ == 0)
    for (std::size_t i = 0; i < kFeatures; ++i) total[i] += slope * one.x[i];
  for (std::size_t j = 0; j < hidden_; ++j) {
    const double* const unit = w.data() + j * kUnit;
    double* const to = total.data() + j * kUnit;
    const double value = before_relu(unit, one.x);
    if (value <= 0) continue;
    to[kFeatures + 1] += slope * value;
    to[kFeatures] += slope * unit[kFeatures + 1];
    for (std::size_t i = 0; i < kFeatures; ++i) to[i] += slope * unit[kFeatures + 1] * one.x[i];
  }
}

double SmallNet::loss(const Point& w, const Examples& batch) const {
  double total = 0;
  for (const auto& one : batch) total += loss(w, one);
  return total / static_cast<double>(batch.size());
}

Point SmallNet::gradient(const Point& w, const Examples& batch) const {
  Point total(w.size(), 0);
  for (const auto& one : batch) add_gradient(w, one, 1 / static_cast<double>(batch.size()), total);
  return total;
}

}  // namespace sadam::lab
