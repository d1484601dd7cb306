// Functions with a truth: where they stop being smooth is known, so that ρ can be judged. Landscapes, by
// closed form; small networks, by whether an activation or a rounding cell changes. Each has a twin that
// differs in smoothness only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lab/landscape.h"
#include "lab/polytope.h"

namespace sadam::lab {

/// The loss at a point, and the piece of the function that the point lies on: a hash of every activation's
/// side and every weight's rounding cell. Two points on one piece have the same.
struct Seen {
  double loss = 0;
  std::uint64_t piece = 0;
};

template <class T>
struct Evaluation {
  std::function<Seen(const std::vector<T>&)> see;
  std::function<std::vector<T>(const std::vector<T>&)> gradient;
};

struct Terrain {
  std::vector<std::size_t> tensors;  ///< their sizes, whose sum is the dimension
  Evaluation<double> in_double;
  Evaluation<float> in_float;  ///< networks only
  /// Landscapes: whether a kink or a jump lies this near. Null: ask whether `piece` changes.
  std::function<bool(const Point&, double radius)> has_kink_within;

  std::size_t size() const;
};

/// A point, the function there, and the same function without kinks and jumps.
struct Spotted {
  std::shared_ptr<const Terrain> terrain, twin;
  Point at;
};

/// Where points are drawn.
enum class Nearness {
  away,    ///< no kink within the radius; there need not be such a point
  one,     ///< one kink or jump, chosen at random, within the radius
  corner,  ///< landscapes: every kink within about the radius over √d
};

struct TerrainFamily {
  std::string name;  ///< "chain", "relu", "2 bits"
  std::size_t dimension = 0;
  /// A source of points for one radius.
  std::function<std::optional<Spotted>(Nearness, double radius, std::mt19937_64&)> spot;
};

/// A landscape as a terrain of two tensors, and its twin: |h| becomes √(h² + 0.01), the largest of several a
/// smooth maximum, and nothing is rounded.
Terrain terrain_of(std::shared_ptr<const Landscape> f);
Terrain twin_of(std::shared_ptr<const Landscape> f);
/// |x₁| + |x₂ − x₁| + …, in time and memory that grow with d and not with its square.
Terrain long_chain(std::size_t dimensions);
Terrain long_chain_twin(std::size_t dimensions);

/// The landscapes that have this many dimensions: all of them in the plane, most of them up to 300, beyond
/// that the chain.
std::vector<TerrainFamily> landscape_families(std::size_t dimensions);

// ---- networks (net_terrain.cpp) ---------------------------------------------------------------------------

enum class Activation { softplus, relu };

/// a·φ(W₂φ(W₁x + b₁) + b₂) under the logistic loss of four examples. With bits, W₁ and W₂ are rounded as
/// `nn::fake_quantize` does, and the gradient passes straight through. φ is ReLU or softplus(10z)/10.
struct NetShape {
  static constexpr std::size_t kFeatures = 8;
  static constexpr std::size_t kExamples = 4;

  std::size_t width = 6;
  Activation activation = Activation::softplus;
  int bits = 0;  ///< none

  /// About so many weights.
  static std::size_t width_for(std::size_t dimensions);
  std::size_t size() const { return width * (width + kFeatures + 3); }
};

Terrain net_terrain(const NetShape& shape, std::uint64_t data_seed);

/// ReLU, and 8, 4 and 2 bits with softplus, with about so many weights; none below 50.
std::vector<TerrainFamily> network_families(std::size_t dimensions);

}  // namespace sadam::lab
