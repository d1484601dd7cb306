#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/every_target.h"
#include "nn/kernels/kernels.h"

namespace sadam::kernels {
namespace {

std::int64_t size_of(const PoolShape& s) { return s.images * s.height * s.width * s.channels; }
std::int64_t pooled_size_of(const PoolShape& s) {
  return s.images * (s.height / 2) * (s.width / 2) * s.channels;
}

/// Calls visit(place in the result, the four places in the input) for every window and channel.
template <class Visit>
void for_each_window(const PoolShape& s, const Visit& visit) {
  std::size_t out = 0;
  for (std::int64_t n = 0; n < s.images; ++n) {
    for (std::int64_t y = 0; y < s.height / 2; ++y) {
      for (std::int64_t x = 0; x < s.width / 2; ++x) {
        for (std::int64_t c = 0; c < s.channels; ++c) {
          std::vector<std::size_t> places;
          for (const std::int64_t dy : {0, 1}) {
            for (const std::int64_t dx : {0, 1}) {
              const auto row = n * s.height + 2 * y + dy;
              places.push_back(static_cast<std::size_t>((row * s.width + 2 * x + dx) * s.channels + c));
            }
          }
          visit(out++, places);
        }
      }
    }
  }
}

template <class T>
struct Pooled {
  std::vector<T> out, in_gradient;
};

template <class T>
Pooled<T> plain(const PoolShape& shape, const std::vector<T>& in, const std::vector<T>& out_gradient) {
  Pooled<T> result{std::vector<T>(out_gradient.size()), std::vector<T>(in.size(), T{0})};
  for_each_window(shape, [&](std::size_t out, const std::vector<std::size_t>& places) {
    auto best = places[0];
    for (const auto place : places) {
      if (in[place] > in[best]) best = place;
    }
    result.out[out] = std::max(T{0}, in[best]);
    if (in[best] > 0) result.in_gradient[best] = out_gradient[out];
  });
  return result;
}

template <class T>
Pooled<T> pooled(const PoolShape& shape, const std::vector<T>& in, const std::vector<T>& out_gradient,
                 int threads) {
  Unaligned<T> from(in), gradient(out_gradient);
  Unaligned<T> out(std::vector<T>(out_gradient.size(), T{77})), in_gradient(std::vector<T>(in.size(), T{77}));
  pool_relu(PoolRelu<T>{out.data(), from.data(), shape, threads});
  pool_relu_gradient(PoolReluGradient<T>{in_gradient.data(), from.data(), gradient.data(), shape, threads});
  return {out.values(), in_gradient.values()};
}

class PoolReluOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(PoolReluOnEveryTarget);

template <class T>
void expect_plain(const PoolShape& shape, bool with_ties) {
  auto in = random_values<T>(size_of(shape), 11);
  if (with_ties) {
    for (auto& value : in) value = std::round(value);
  }
  const auto gradient = random_values<T>(pooled_size_of(shape), 12);
  const auto expected = plain(shape, in, gradient);
  for (const int threads : {1, 2}) {
    const auto actual = pooled(shape, in, gradient, threads);
    ASSERT_EQ(expected.out, actual.out);
    ASSERT_EQ(expected.in_gradient, actual.in_gradient);
  }
}

TEST_P(PoolReluOnEveryTarget, IsThePlainLoopForEvenAndOddSizes) {
  for (const auto& shape : {PoolShape{0, 4, 4, 16}, PoolShape{1, 2, 2, 1}, PoolShape{2, 3, 3, 3},
                            PoolShape{2, 2, 5, 16}, PoolShape{3, 5, 2, 17}, PoolShape{1, 13, 13, 32},
                            PoolShape{9, 30, 30, 16}, PoolShape{5, 31, 31, 33}}) {
    SCOPED_TRACE(testing::Message() << shape.height << " × " << shape.width << " × " << shape.channels);
    for (const bool with_ties : {false, true}) {
      expect_plain<float>(shape, with_ties);
      expect_plain<double>(shape, with_ties);
    }
  }
}

TEST_P(PoolReluOnEveryTarget, LosesNoNaN) {
  const PoolShape shape{1, 2, 2, 5};
  for (std::size_t place = 0; place < 20; ++place) {
    std::vector<float> in(20, 3.0F);
    in[place] = std::numeric_limits<float>::quiet_NaN();
    const auto result = pooled(shape, in, std::vector<float>(5, 1.0F), 1);
    for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(c == place % 5, std::isnan(result.out[c])) << place;
  }
}

}  // namespace
}  // namespace sadam::kernels
