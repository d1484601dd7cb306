// Arrays on the GPU, and the sizes at which loops go wrong.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/random_values.h"

namespace sadam::kernels::cuda {

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

/// A copy of `values` on the GPU, `offset` elements away from an address that is aligned to everything, with
/// a margin on both sides that nobody may touch.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values, std::size_t offset = 0)
      : count_(values.size()), before_(kMargin + offset * sizeof(T)) {
    std::vector<unsigned char> bytes(size(), kUntouched);
    if (count_ > 0) std::memcpy(bytes.data() + before_, values.data(), count_ * sizeof(T));
    require(cudaMalloc(&memory_, size()));
    require(cudaMemcpy(memory_, bytes.data(), size(), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { static_cast<void>(cudaFree(memory_)); }
  DeviceArray(DeviceArray&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), count_(other.count_), before_(other.before_) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return reinterpret_cast<T*>(static_cast<unsigned char*>(memory_) + before_); }

  /// What is there now, once all that was started is done.
  std::vector<T> values() const {
    require(cudaDeviceSynchronize());
    std::vector<unsigned char> bytes(size());
    require(cudaMemcpy(bytes.data(), memory_, size(), cudaMemcpyDeviceToHost));
    std::vector<T> values(count_);
    if (count_ > 0)
      std::memcpy(static_cast<void*>(values.data()), bytes.data() + before_, count_ * sizeof(T));
    for (std::size_t i = 0; i < size(); ++i) {
      const bool margin = i < before_ || i >= before_ + count_ * sizeof(T);
      if (margin && bytes[i] != kUntouched) {
        ADD_FAILURE() << "a byte outside an array of " << count_ << " elements was written";
        break;
      }
    }
    return values;
  }
  T value() const { return values().at(0); }

  void set(const std::vector<T>& values) {
    require(cudaMemcpy(data(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }

 private:
  static constexpr std::size_t kMargin = 256;
  static constexpr unsigned char kUntouched = 0xA5;
  std::size_t size() const { return before_ + count_ * sizeof(T) + kMargin; }

  void* memory_ = nullptr;
  std::size_t count_;
  std::size_t before_;
};

/// Multiples of nothing, and a few that are.
inline const std::vector<std::int64_t>& odd_sizes() {
  static const std::vector<std::int64_t> sizes = {0, 1, 7, 127, 128, 129, 1000, 4096, 4097, 100003};
  return sizes;
}

/// The sizes of 150 tensors, more than one launch takes; some are empty.
inline std::vector<std::int64_t> many_sizes() {
  std::mt19937 engine(3);
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 150; ++i) {
    const auto limit = i % 10 == 9 ? 9000u : 300u;
    sizes.push_back(i % 13 == 5 ? 0 : static_cast<std::int64_t>(engine() % limit));
  }
  return sizes;
}

/// Bit for bit: a NaN equals itself, and −0 is not 0.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// |got − want| ≤ tolerance·scale, element by element.
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<T>& want, const std::vector<double>& scale,
                  double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), tolerance * scale[i])
        << i << " of " << got.size();
}

}  // namespace sadam::kernels::cuda
