// The kernel's arithmetic, run on the CPU.
#include "data/device/gather_element.h"

#include <gtest/gtest.h>

#include <vector>

#include "data/device/gather_case.h"

namespace sadam::data::device {
namespace {

TEST(GatheredElement, MakesTheLoadersBatchesBitForBit) {
  for (const auto& each : gather_cases()) {
    const GatherSample sample(each);
    Gather launch;
    launch.stored = sample.set->stored()->pixels.data();
    launch.height = static_cast<std::int32_t>(each.height);
    launch.width = static_cast<std::int32_t>(each.width);
    launch.order = sample.order.data();
    launch.pixels = static_cast<std::int32_t>(each.pixels);
    launch.across = axis_at(sample.across.data(), sample.resizer.across());
    launch.down = axis_at(sample.down.data(), sample.resizer.down());
    launch.normalization = sample.table[0].data();
    launch.channels_last = each.channels_last;
    for (const auto& batch : sample.expected()) {
      std::vector<float> images;
      for (std::size_t i = 0; i < batch.size; ++i) {
        const auto source = source_of(launch, static_cast<std::int64_t>(i));
        EXPECT_EQ(batch.labels[i], sample.set->label(static_cast<std::size_t>(source)));
        for (std::int32_t e = 0; e < image_elements(launch); ++e)
          images.push_back(gathered_element(launch, source, e));
      }
      ASSERT_TRUE(batch.images == images) << each << ", from image " << launch.first;
      launch.first += static_cast<std::int64_t>(batch.size);
    }
    EXPECT_EQ(static_cast<std::int64_t>(each.images), launch.first);
  }
}

TEST(GatheredElement, WithoutAnOrderTheSetsOwnIsTaken) {
  Gather launch;
  launch.first = 7;
  EXPECT_EQ(12, source_of(launch, 5));
}

}  // namespace
}  // namespace sadam::data::device
