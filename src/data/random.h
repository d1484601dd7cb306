// A stream of random integers on Philox, for everything about data that is drawn: orders of images, pictures.
// The same integers on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/philox.h"

namespace sadam::data {

/// What a stream is for. Streams of one seed and different purposes share no bits, and none shares bits with
/// the directions of a probe: a purpose takes the place of the probe's number (see kernels/direction.h), far
/// above any that is used.
enum class Purpose : std::uint32_t {
  shuffle = 0xDA7A0001u,
  train_picture = 0xDA7A0002u,
  test_picture = 0xDA7A0003u,
  masks_of_rank = 0xDA7A0004u
};

/// Stream number `number` of a seed and a purpose: a pure function of the three. It repeats after 2³⁴ words.
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose, std::uint64_t number)
      : family_(Family::from(kernels::PhiloxKeys<Math>::from(seed), static_cast<std::uint32_t>(purpose),
                             static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32))) {}

  /// 32 random bits.
  std::uint32_t bits() {
    if (used_ == kWords) refill();
    return words_[used_++];
  }

  /// Uniform in [0, count), count at least 1, without bias: of the 2³² values of a word those that would make
  /// some results likelier than others are drawn again (the multiplication form, which mostly needs no
  /// division).
  std::uint32_t below(std::uint32_t count) {
    auto product = std::uint64_t{bits()} * count;
    if (static_cast<std::uint32_t>(product) < count) {
      const std::uint32_t excess = (0u - count) % count;  // 2³² mod count
      while (static_cast<std::uint32_t>(product) < excess) product = std::uint64_t{bits()} * count;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  /// Uniform in [low, high], both included.
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint32_t>(high - low + 1)));
  }

 private:
  using Math = kernels::ScalarMath<double>;
  using Family = kernels::PhiloxFamily<Math>;
  static constexpr int kBlocks = 4;  // at a time: their multiplications overlap
  static constexpr std::size_t kWords = 4 * kBlocks;

  void refill() {
    const Math::U counters[kBlocks] = {block_, block_ + 1, block_ + 2, block_ + 3};
    kernels::PhiloxWords<Math> blocks[kBlocks];
    family_.words(counters, blocks);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      words_[4 * i] = static_cast<std::uint32_t>(blocks[i].w0);
      words_[4 * i + 1] = static_cast<std::uint32_t>(blocks[i].w1);
      words_[4 * i + 2] = static_cast<std::uint32_t>(blocks[i].w2);
      words_[4 * i + 3] = static_cast<std::uint32_t>(blocks[i].w3);
    }
    block_ += kBlocks;
    used_ = 0;
  }

  Family family_;
  std::uint64_t block_ = 0;
  std::uint32_t words_[kWords] = {};
  std::size_t used_ = kWords;
};

}  // namespace sadam::data
