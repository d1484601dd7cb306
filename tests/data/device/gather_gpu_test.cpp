// The kernel itself, where there is a GPU. Free of libtorch.
#include "data/device/gather.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "data/device/gather_case.h"

namespace sadam::data::device {
namespace {

void check(cudaError_t status) { ASSERT_EQ(cudaSuccess, status) << cudaGetErrorString(status); }

/// Device memory with a copy of `values`.
template <class T>
class Copied {
 public:
  explicit Copied(const std::vector<T>& values) : size_(values.size()) {
    check(cudaMalloc(&data_, std::max<std::size_t>(1, size_ * sizeof(T))));
    check(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Copied() { cudaFree(data_); }
  Copied(const Copied&) = delete;
  Copied& operator=(const Copied&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  std::vector<T> back() const {
    std::vector<T> values(size_);
    check(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

class GatherOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
      GTEST_SKIP() << "there is no GPU here, so the gather kernel was not run";
  }
};

TEST_F(GatherOnGpu, MakesTheLoadersBatchesBitForBit) {
  for (const auto& each : gather_cases()) {
    const GatherSample sample(each);
    const Copied stored(sample.set->stored()->pixels);
    const Copied stored_labels(sample.set->stored()->labels);
    const Copied order(sample.order);
    const Copied across(sample.across);
    const Copied down(sample.down);
    std::vector<float> table;
    for (const auto& channel : sample.table) table.insert(table.end(), channel.begin(), channel.end());
    const Copied normalization(table);

    Gather launch;
    launch.stored = stored.data();
    launch.stored_labels = stored_labels.data();
    launch.height = static_cast<std::int32_t>(each.height);
    launch.width = static_cast<std::int32_t>(each.width);
    launch.order = order.data();
    launch.pixels = static_cast<std::int32_t>(each.pixels);
    launch.across = axis_at(across.data(), sample.resizer.across());
    launch.down = axis_at(down.data(), sample.resizer.down());
    launch.normalization = normalization.data();
    launch.channels_last = each.channels_last;
    for (const auto& batch : sample.expected()) {
      const Copied images(std::vector<float>(batch.images.size(), -1.0F));
      const Copied labels(std::vector<std::int64_t>(batch.size, -1));
      launch.count = static_cast<std::int64_t>(batch.size);
      launch.images = images.data();
      launch.labels = labels.data();
      gather(launch);
      check(cudaDeviceSynchronize());
      ASSERT_TRUE(batch.images == images.back()) << each << ", from image " << launch.first;
      ASSERT_EQ(batch.labels, labels.back()) << each;
      launch.first += launch.count;
    }
  }
}

TEST_F(GatherOnGpu, MoreImagesThanAGridIsHighAreAllMade) {
  const GatherSample sample({1, 1, 1, 70001, 70001, false});
  const Copied stored(sample.set->stored()->pixels);
  const Copied stored_labels(sample.set->stored()->labels);
  std::vector<float> table(3 * 256);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i % 256);
  const Copied normalization(table);
  const Copied images(std::vector<float>(3 * 70001, -1.0F));
  const Copied labels(std::vector<std::int64_t>(70001, -1));
  Gather launch;
  launch.stored = stored.data();
  launch.stored_labels = stored_labels.data();
  launch.height = launch.width = launch.pixels = 1;
  launch.normalization = normalization.data();
  launch.count = 70001;
  launch.images = images.data();
  launch.labels = labels.data();
  gather(launch);
  check(cudaDeviceSynchronize());
  const auto made = images.back();
  EXPECT_TRUE(std::equal(made.begin(), made.end(), sample.set->stored()->pixels.begin()));
  EXPECT_EQ(sample.set->stored()->labels, labels.back());
}

}  // namespace
}  // namespace sadam::data::device
