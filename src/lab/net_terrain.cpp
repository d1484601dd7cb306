// The networks among the terrains.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "lab/terrain.h"
#include "nn/kernels/kernels.h"

namespace sadam::lab {
namespace {

constexpr std::size_t kFeatures = NetShape::kFeatures;
constexpr std::size_t kExamples = NetShape::kExamples;
constexpr double kSharpness = 10;  // of softplus

/// One number for each example.
template <class T>
using Lane = std::array<T, kExamples>;

/// FNV-1a over small integers.
class PieceHash {
 public:
  void take(std::int64_t value) { hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0x100000001b3U; }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

/// What weights are multiplied by before they are rounded, as in `nn::fake_quantize`.
template <class T>
T scale_of(double q, std::span<const T> w) {
  T largest = 0;
  for (const T each : w) largest = std::max(largest, std::abs(each));
  return static_cast<T>(q) / (largest + static_cast<T>(1e-5));
}

struct NetData {
  std::array<Lane<double>, kFeatures> x{};
  Lane<double> y{};  ///< ±1

  explicit NetData(std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    for (auto& feature : x)
      for (auto& each : feature) each = normal(generator);
    for (auto& each : y) each = generator() % 2 == 0 ? 1 : -1;
  }
};

/// Where each tensor begins in the point of all weights: W₁, b₁, W₂, b₂, a.
struct NetLayout {
  std::size_t w1 = 0, b1, w2, b2, a, end;

  explicit NetLayout(std::size_t h) : b1(h * kFeatures), w2(b1 + h), b2(w2 + h * h), a(b2 + h), end(a + h) {}
};

template <class T>
T activated(Activation activation, T z) {
  if (activation == Activation::relu) return std::max(z, T{0});
  const T t = static_cast<T>(kSharpness) * z;
  return (std::max(t, T{0}) + std::log1p(std::exp(-std::abs(t)))) / static_cast<T>(kSharpness);
}

template <class T>
T activation_slope(Activation activation, T z) {
  if (activation == Activation::relu) return z > 0 ? T{1} : T{0};
  return 1 / (1 + std::exp(-static_cast<T>(kSharpness) * z));
}

/// One forward pass, with all that the backward pass needs.
template <class T>
class NetPass {
 public:
  NetPass(const NetShape& shape, const NetData& data, const std::vector<T>& w)
      : shape_(shape), data_(data), at_(shape.width), w_(w), used_(w) {
    if (shape.bits > 0) {
      round(at_.w1, at_.b1);
      round(at_.w2, at_.b2);
    }
    const auto h = shape.width;
    z1_.resize(h);
    z2_.resize(h);
    x1_.resize(h);
    x2_.resize(h);
    for (std::size_t i = 0; i < h; ++i) {
      z1_[i].fill(used_[at_.b1 + i]);
      for (std::size_t j = 0; j < kFeatures; ++j)
        for (std::size_t e = 0; e < kExamples; ++e)
          z1_[i][e] += used_[at_.w1 + i * kFeatures + j] * static_cast<T>(data.x[j][e]);
      activate(z1_[i], x1_[i]);
    }
    for (std::size_t i = 0; i < h; ++i) {
      const T* const row = used_.data() + at_.w2 + i * h;
      Lane<T> z;
      z.fill(used_[at_.b2 + i]);
      for (std::size_t j = 0; j < h; ++j)
        for (std::size_t e = 0; e < kExamples; ++e) z[e] += row[j] * x1_[j][e];
      z2_[i] = z;
      activate(z2_[i], x2_[i]);
    }
    output_.fill(T{0});
    for (std::size_t i = 0; i < h; ++i)
      for (std::size_t e = 0; e < kExamples; ++e) output_[e] += used_[at_.a + i] * x2_[i][e];
  }

  Seen seen() const {
    T total = 0;
    for (std::size_t e = 0; e < kExamples; ++e) {
      const T margin = static_cast<T>(data_.y[e]) * output_[e];
      total += std::max(-margin, T{0}) + std::log1p(std::exp(-std::abs(margin)));
    }
    return {static_cast<double>(total / static_cast<T>(kExamples)), hash_.value()};
  }

  std::vector<T> gradient() const {
    const auto h = shape_.width;
    std::vector<T> g(w_.size(), T{0});
    Lane<T> slope;
    for (std::size_t e = 0; e < kExamples; ++e) {
      const T y = static_cast<T>(data_.y[e]);
      slope[e] = -y / (1 + std::exp(y * output_[e])) / static_cast<T>(kExamples);
    }
    std::vector<Lane<T>> back(h, Lane<T>{});  // to the first layer's outputs
    for (std::size_t i = 0; i < h; ++i) {
      Lane<T> here;
      for (std::size_t e = 0; e < kExamples; ++e) {
        g[at_.a + i] += slope[e] * x2_[i][e];
        here[e] = slope[e] * used_[at_.a + i] * activation_slope(shape_.activation, z2_[i][e]);
        g[at_.b2 + i] += here[e];
      }
      const T* const row = used_.data() + at_.w2 + i * h;
      T* const to = g.data() + at_.w2 + i * h;
      for (std::size_t j = 0; j < h; ++j)
        for (std::size_t e = 0; e < kExamples; ++e) {
          to[j] += here[e] * x1_[j][e];
          back[j][e] += here[e] * row[j];
        }
    }
    for (std::size_t i = 0; i < h; ++i)
      for (std::size_t e = 0; e < kExamples; ++e) {
        const T here = back[i][e] * activation_slope(shape_.activation, z1_[i][e]);
        g[at_.b1 + i] += here;
        for (std::size_t j = 0; j < kFeatures; ++j)
          g[at_.w1 + i * kFeatures + j] += here * static_cast<T>(data_.x[j][e]);
      }
    return g;
  }

  T before_activation(std::size_t unit, std::size_t example) const { return z1_[unit][example]; }

 private:
  void round(std::size_t begin, std::size_t end) {
    const auto levels = kernels::quantization_levels(shape_.bits);
    const T scale = scale_of(levels.q, std::span<const T>(w_.data() + begin, end - begin));
    const T low = static_cast<T>(levels.low);
    const T high = static_cast<T>(levels.high);
    for (std::size_t i = begin; i < end; ++i) {
      const T cell = std::clamp(std::nearbyint(w_[i] * scale), low, high);
      hash_.take(static_cast<std::int64_t>(cell));
      used_[i] = cell / scale;
    }
  }

  void activate(const Lane<T>& z, Lane<T>& out) {
    for (std::size_t e = 0; e < kExamples; ++e) {
      out[e] = activated(shape_.activation, z[e]);
      if (shape_.activation == Activation::relu) hash_.take(z[e] > 0 ? 1 : 0);
    }
  }

  const NetShape& shape_;
  const NetData& data_;
  NetLayout at_;
  const std::vector<T>& w_;
  std::vector<T> used_;  ///< rounded
  std::vector<Lane<T>> z1_, z2_, x1_, x2_;
  Lane<T> output_;
  PieceHash hash_;
};

template <class T>
Evaluation<T> net_evaluation(const NetShape& shape, const NetData& data) {
  return {[=](const std::vector<T>& w) { return NetPass<T>(shape, data, w).seen(); },
          [=](const std::vector<T>& w) { return NetPass<T>(shape, data, w).gradient(); }};
}

Point net_start(const NetShape& shape, std::mt19937_64& generator) {
  const NetLayout at(shape.width);
  std::normal_distribution<double> normal;
  Point w(at.end);
  const auto fill = [&](std::size_t begin, std::size_t end, double deviation) {
    for (std::size_t i = begin; i < end; ++i) w[i] = deviation * normal(generator);
  };
  const auto h = static_cast<double>(shape.width);
  fill(at.w1, at.b1, std::sqrt(2.0 / kFeatures));
  fill(at.b1, at.w2, 0.1);
  fill(at.w2, at.b2, std::sqrt(2 / h));
  fill(at.b2, at.a, 0.1);
  fill(at.a, at.end, std::sqrt(2 / h));
  // As float32 holds them, so that both precisions begin at one point.
  for (auto& each : w) each = static_cast<double>(static_cast<float>(each));
  return w;
}

/// Moves one weight so that probes of this radius reach the other side of a kink or jump about every second
/// time.
void nudge(const NetShape& shape, std::uint64_t data_seed, double radius, Point& w,
           std::mt19937_64& generator) {
  const NetLayout at(shape.width);
  const double reach = radius / std::sqrt(static_cast<double>(w.size()));  // in one coordinate
  std::uniform_real_distribution<double> off(-1, 1);
  if (shape.activation == Activation::relu) {
    const NetData data(data_seed);
    const auto unit = generator() % shape.width;
    const auto example = generator() % kExamples;
    double length = 1;  // of ∂z/∂w
    for (const auto& feature : data.x) length += feature[example] * feature[example];
    const double now = NetPass<double>(shape, data, w).before_activation(unit, example);
    w[at.b1 + unit] += off(generator) * reach * std::sqrt(length) - now;
  }
  if (shape.bits > 0) {
    const double q = kernels::quantization_levels(shape.bits).q;
    const double scale = scale_of(q, std::span<const double>(w.data() + at.w2, at.b2 - at.w2));
    auto& one = w[at.w2 + generator() % (at.b2 - at.w2)];
    // Not beyond the outermost boundary, where the range ends.
    const double last = std::floor(q - 0.5);
    const double boundary = std::clamp(std::floor(one * scale), -last, last - 1) + 0.5;
    one = boundary / scale + off(generator) * reach;
  }
}

TerrainFamily net_family(const std::string& name, const NetShape& shape) {
  const auto spot = [shape](Nearness nearness, double radius,
                            std::mt19937_64& generator) -> std::optional<Spotted> {
    if (nearness == Nearness::corner) return std::nullopt;
    const auto data_seed = generator();
    auto smooth = shape;
    smooth.activation = Activation::softplus;
    smooth.bits = 0;
    auto w = net_start(shape, generator);
    if (nearness == Nearness::one) nudge(shape, data_seed, radius, w, generator);
    return Spotted{std::make_shared<const Terrain>(net_terrain(shape, data_seed)),
                   std::make_shared<const Terrain>(net_terrain(smooth, data_seed)), std::move(w)};
  };
  return {name, shape.size(), spot};
}

}  // namespace

std::size_t NetShape::width_for(std::size_t dimensions) {
  constexpr double kOthers = kFeatures + 3;
  const double exact = 0.5 * (std::sqrt(kOthers * kOthers + 4 * static_cast<double>(dimensions)) - kOthers);
  return static_cast<std::size_t>(std::max(1.0, std::round(exact)));
}

Terrain net_terrain(const NetShape& shape, std::uint64_t data_seed) {
  const NetData data(data_seed);
  const auto h = shape.width;
  Terrain terrain;
  terrain.tensors = {h * kFeatures, h, h * h, h, h};
  terrain.in_double = net_evaluation<double>(shape, data);
  terrain.in_float = net_evaluation<float>(shape, data);
  return terrain;
}

std::vector<TerrainFamily> network_families(std::size_t dimensions) {
  constexpr std::size_t kLeast = 50;
  if (dimensions < kLeast) return {};
  NetShape shape;
  shape.width = NetShape::width_for(dimensions);
  shape.activation = Activation::relu;
  std::vector<TerrainFamily> families = {net_family("relu", shape)};
  shape.activation = Activation::softplus;
  for (const int bits : {8, 4, 2}) {
    shape.bits = bits;
    families.push_back(net_family(fmt::format("{} bits", bits), shape));
  }
  return families;
}

}  // namespace sadam::lab
