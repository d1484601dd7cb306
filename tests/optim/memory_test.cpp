// Memory beyond AdamW is one copy of the parameters; no direction is ever stored.
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>

#include "support/models.h"

namespace sadam {
namespace {

// Counts the bytes that tensors hold, and their peak.
class CountingAllocator : public c10::Allocator {
 public:
  CountingAllocator() : before_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, 255); }
  ~CountingAllocator() override { c10::SetCPUAllocator(before_, 255); }

#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(std::size_t bytes) override { return counted(bytes); }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }
#else
  c10::DataPtr allocate(std::size_t bytes) const override { return counted(bytes); }
#endif

  static inline std::atomic<std::int64_t> live{0};
  static inline std::atomic<std::int64_t> peak{0};

 private:
  struct Block {
    c10::DataPtr data;
    std::int64_t bytes;
  };
  c10::DataPtr counted(std::size_t bytes) const {
    auto block = std::make_unique<Block>(Block{before_->allocate(bytes), static_cast<std::int64_t>(bytes)});
    live += block->bytes;
    peak = std::max(peak.load(), live.load());
    void* data = block->data.get();
    const auto device = block->data.device();
    return {data, block.release(),
            [](void* context) {
              const std::unique_ptr<Block> freed(static_cast<Block*>(context));
              live -= freed->bytes;
            },
            device};
  }
  c10::Allocator* before_;
};

constexpr std::int64_t kCount = 1 << 21;
constexpr double kBytes = kCount * sizeof(float);

// Peak memory of two steps, in copies of the parameters. The closure itself needs next to nothing, and its
// backward pass no more than the gradient.
template <class Make>
double peak_of(Make&& make) {
  auto w = torch::randn({kCount}).set_requires_grad(true);
  const auto at_start = CountingAllocator::live.load();
  auto optimizer = make(w);
  CountingAllocator::peak = at_start;
  for (int step = 0; step < 2; ++step) optimizer.step([&] { return w.sum(); });
  return static_cast<double>(CountingAllocator::peak - at_start) / kBytes;
}

TEST(Memory, AClosureTakesNoMoreThanAPlainStep) {
  const CountingAllocator counting;
  const auto peak = [](bool with_closure) {
    auto w = torch::randn({kCount}).set_requires_grad(true);
    const auto at_start = CountingAllocator::live.load();
    AdamW optimizer({w});
    CountingAllocator::peak = at_start;
    for (int step = 0; step < 3; ++step) {
      if (with_closure) {
        optimizer.step([&] { return w.sum(); });
      } else {
        w.mutable_grad().reset();
        w.sum().backward();
        optimizer.step();
      }
    }
    return static_cast<double>(CountingAllocator::peak - at_start) / kBytes;
  };
  EXPECT_NEAR(peak(false), peak(true), 0.01) << "old gradients are not kept beside the new ones";
}

TEST(Memory, BeyondAdamWIsOneCopyOfTheParameters) {
  const CountingAllocator counting;
  const double adamw = peak_of([](torch::Tensor& w) { return AdamW({w}); });
  EXPECT_NEAR(adamw, 3, 0.01) << "gradient, m and v";
  const double tolerance = 0.01;
  for (auto directions :
       {Directions::sphere, Directions::per_tensor, Directions::rademacher, Directions::step}) {
    const double sadam = peak_of([&](torch::Tensor& w) {
      return SAdam({w}, SAdamOptions().probes(3).directions(directions).statistic(Statistic::residual));
    });
    EXPECT_LE(sadam, adamw + 1 + tolerance) << to_string(directions);
    EXPECT_GE(sadam, adamw + 0.5) << "is the copy counted at all?";
  }
}

}  // namespace
}  // namespace sadam
