// Tests that run once for each instruction set that both the kernels were compiled for and this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/random_values.h"
#include "support/target_scope.h"

namespace sadam::kernels {

class EveryTarget : public testing::TestWithParam<std::int64_t> {
 private:
  TargetScope scope_{GetParam()};
};

inline std::string target_name(const testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

#define SADAM_FOR_EVERY_TARGET(Suite) \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), target_name)

/// ASSERT_NEAR for loops over many elements, which is gone through only where it fails.
#define SADAM_ASSERT_NEAR(a, b, tolerance)  \
  GTEST_AMBIGUOUS_ELSE_BLOCKER_             \
  if (std::abs((a) - (b)) <= (tolerance)) { \
  } else                                    \
    ASSERT_NEAR(a, b, tolerance)

/// Sizes at and around every boundary of the loops: vectors, steps, tiles, runs and chunks.
inline const std::vector<std::int64_t>& awkward_sizes() {
  static const std::vector<std::int64_t> sizes = {0,   1,   2,    3,    7,    8,     9,     15,
                                                  16,  17,  31,   33,   63,   64,    65,    127,
                                                  128, 129, 2047, 2048, 2049, 32767, 32768, 100003};
  return sizes;
}

/// A copy whose first element is not where an allocator would put it: aligned to T and to nothing more.
template <class T>
class Unaligned {
 public:
  explicit Unaligned(const std::vector<T>& values) : storage_(1, T{0}) {
    storage_.insert(storage_.end(), values.begin(), values.end());
    storage_.shrink_to_fit();  // so that the address sanitizer sees the first step beyond the end
  }
  T* data() { return storage_.data() + 1; }
  std::vector<T> values() const { return {storage_.begin() + 1, storage_.end()}; }

 private:
  std::vector<T> storage_;
};

/// [0, count) cut at `pieces` − 1 random places; some pieces are empty.
inline std::vector<std::int64_t> random_cuts(std::int64_t count, int pieces, std::mt19937& engine) {
  std::uniform_int_distribution<std::int64_t> place(0, count);
  std::vector<std::int64_t> cuts = {0, count};
  for (int i = 1; i < pieces; ++i) cuts.push_back(place(engine));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace sadam::kernels
