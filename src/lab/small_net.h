// Logistic regression and a small ReLU network in plain doubles, with examples to draw: losses over samples,
// cheap enough to train a thousand times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lab/polytope.h"

namespace sadam::lab {

struct Example {
  Point x;       ///< `SmallNet::kFeatures` of them
  double y = 1;  ///< ±1
};
using Examples = std::vector<Example>;

/// Normal features; labels by a plane and a bend, one in ten wrong.
Examples draw_examples(std::size_t count, std::mt19937_64& generator);

/// Σ aⱼ·max(0, ⟨wⱼ, x⟩ + bⱼ) under the logistic loss; ⟨w, x⟩ without hidden units. All weights lie in one
/// point: (wⱼ, bⱼ, aⱼ) for each unit.
class SmallNet {
 public:
  static constexpr std::size_t kFeatures = 5;

  SmallNet(std::string name, std::size_t hidden) : name_(std::move(name)), hidden_(hidden) {}

  const std::string& name() const { return name_; }
  std::size_t size() const { return hidden_ == 0 ? kFeatures : hidden_ * kUnit; }
  Point start(std::uint64_t seed) const;

  double loss(const Point& w, const Example& one) const;
  /// total += factor·∇loss.
  void add_gradient(const Point& w, const Example& one, double factor, Point& total) const;

  /// Means over a batch.
  double loss(const Point& w, const Examples& batch) const;
  Point gradient(const Point& w, const Examples& batch) const;

 private:
  static constexpr std::size_t kUnit = kFeatures + 2;

  static double before_relu(const double* unit, const Point& x);
  double output(const Point& w, const Point& x) const;

  std::string name_;
  std::size_t hidden_;
};

}  // namespace sadam::lab
