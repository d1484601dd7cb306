#include "data/resize.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sadam::data {

Resizer::Axis::Axis(std::size_t from, std::size_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(ratio, 1.0);  // half the width of the triangle, in input pixels
  taps = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  first.resize(to);
  count.resize(to);
  weights.assign(to * taps, 0);
  std::vector<double> exact(taps);
  for (std::size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * ratio;
    first[i] = static_cast<std::size_t>(std::max(std::floor(centre - support + 0.5), 0.0));
    const auto end = std::min(static_cast<std::size_t>(std::floor(centre + support + 0.5)), from);
    count[i] = end - first[i];
    double sum = 0;
    for (std::size_t j = 0; j < count[i]; ++j) {
      const double distance = (static_cast<double>(j + first[i]) - centre + 0.5) * (1.0 / support);
      exact[j] = std::max(1.0 - std::abs(distance), 0.0);
      sum += exact[j];
    }
    for (std::size_t j = 0; j < count[i]; ++j)
      weights[i * taps + j] =
          static_cast<std::int32_t>(std::floor(exact[j] / sum * (1 << kWeightBits) + 0.5));
  }
}

Resizer::Resizer(Size from, Size to)
    : from_(from), to_(to), across_(from.width, to.width), down_(from.height, to.height) {}

// Several rows at once, so that a weight is looked up once for all of them.
template <std::size_t rows>
void Resizer::resize_rows(const std::uint8_t* in, std::uint8_t* out) const {
  for (std::size_t x = 0; x < to_.width; ++x) {
    const auto* const pixels = in + across_.first[x];
    const auto* const weights = across_.weights.data() + x * across_.taps;
    std::array<std::int32_t, rows> sums;
    sums.fill(kHalfWeight);
    for (std::size_t j = 0; j < across_.count[x]; ++j)
      for (std::size_t y = 0; y < rows; ++y) sums[y] += pixels[y * from_.width + j] * weights[j];
    for (std::size_t y = 0; y < rows; ++y) out[y * to_.width + x] = rounded_byte(sums[y]);
  }
}

// Several columns at once, whose sums then stay in registers.
template <std::size_t columns>
void Resizer::resize_columns(const std::uint8_t* in, std::uint8_t* out) const {
  for (std::size_t y = 0; y < to_.height; ++y) {
    const auto* row = in + down_.first[y] * to_.width;
    std::array<std::int32_t, columns> sums;
    sums.fill(kHalfWeight);
    for (std::size_t j = 0; j < down_.count[y]; ++j, row += to_.width) {
      const std::int32_t weight = down_.weights[y * down_.taps + j];
      for (std::size_t x = 0; x < columns; ++x) sums[x] += row[x] * weight;
    }
    for (std::size_t x = 0; x < columns; ++x) out[y * to_.width + x] = rounded_byte(sums[x]);
  }
}

void Resizer::operator()(const std::uint8_t* in, std::uint8_t* out) const {
  constexpr std::size_t kPlanes = 3;
  if (from_ == to_) {
    std::copy_n(in, kPlanes * from_.width * from_.height, out);
    return;
  }
  std::vector<std::uint8_t> between(to_.width * from_.height);
  for (std::size_t plane = 0; plane < kPlanes; ++plane) {
    std::size_t y = 0;
    for (; y + 4 <= from_.height; y += 4)
      resize_rows<4>(in + y * from_.width, between.data() + y * to_.width);
    for (; y < from_.height; ++y) resize_rows<1>(in + y * from_.width, between.data() + y * to_.width);
    std::size_t x = 0;
    for (; x + 16 <= to_.width; x += 16) resize_columns<16>(between.data() + x, out + x);
    for (; x < to_.width; ++x) resize_columns<1>(between.data() + x, out + x);
    in += from_.width * from_.height;
    out += to_.width * to_.height;
  }
}

}  // namespace sadam::data
