// A long series of numbers in little room, so that no peak is lost, and the shares of its values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sadam::page {

/// Numbers by step, in buckets of equal length that keep their extremes. A bucket begins at a multiple of its
/// length. When there are more than `kMost`, the length doubles, and two neighbours become one: so that a run
/// that grows changes nothing but its end, until it has doubled.
class Buckets {
 public:
  static constexpr std::size_t kMost = 2000;

  struct Bucket {
    std::int64_t last_step = 0;  ///< 0: no step fell into it
    std::int64_t finite = 0;     ///< how many of its numbers were
    double sum = 0;              ///< of those
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void merge(const Bucket& other) {
      last_step = std::max(last_step, other.last_step);
      finite += other.finite;
      sum += other.sum;
      low = std::min(low, other.low);
      high = std::max(high, other.high);
    }
    double mean() const { return sum / static_cast<double>(finite); }
  };

  /// Steps count from 1; any other is passed over.
  void add(std::int64_t step, double value) {
    if (step < 1) return;
    while ((step - 1) / length_ >= static_cast<std::int64_t>(kMost)) halve();
    const auto index = static_cast<std::size_t>((step - 1) / length_);
    if (index >= buckets_.size()) buckets_.resize(index + 1);
    Bucket one;
    one.last_step = step;
    if (std::isfinite(value)) {
      one.finite = 1;
      one.sum = one.low = one.high = value;
    }
    buckets_[index].merge(one);
  }

  std::int64_t length() const { return length_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }
  bool is_empty() const { return buckets_.empty(); }

 private:
  void halve() {
    length_ *= 2;
    const auto count = (buckets_.size() + 1) / 2;
    for (std::size_t i = 0; i < count; ++i) {
      auto pair = buckets_[2 * i];
      if (2 * i + 1 < buckets_.size()) pair.merge(buckets_[2 * i + 1]);
      buckets_[i] = pair;
    }
    buckets_.resize(count);
  }

  std::int64_t length_ = 1;
  std::vector<Bucket> buckets_;
};

/// How many numbers fell where, from 0 on. The bins double their width when a number lies above them all.
class Bins {
 public:
  static constexpr std::size_t kMost = 100;

  /// What is not finite is passed over; what is below 0 counts as 0.
  void add(double value) {
    if (!std::isfinite(value)) return;
    // ρ and the brake end at 1, which belongs to the bin below it.
    while (value > width_ * static_cast<double>(kMost)) halve();
    const auto index = static_cast<std::size_t>(std::max(value, 0.0) / width_);
    ++counts_[std::min(index, kMost - 1)];
  }

  double width() const { return width_; }
  const std::vector<std::int64_t>& counts() const { return counts_; }

 private:
  void halve() {
    width_ *= 2;
    for (std::size_t i = 0; i < kMost; ++i)
      counts_[i] = 2 * i < kMost ? counts_[2 * i] + counts_[2 * i + 1] : 0;
  }

  double width_ = 1.0 / static_cast<double>(kMost);
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(kMost);
};

}  // namespace sadam::page
