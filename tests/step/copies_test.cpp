#include "step/copies.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/models.h"

namespace sadam::step {
namespace {

using namespace sadam::testing;

std::int64_t bytes_between(const torch::Tensor& a, const torch::Tensor& b) {
  return static_cast<const char*>(b.data_ptr()) - static_cast<const char*>(a.data_ptr());
}

// As cuDNN wants the weights of its recurrent layers.
TEST(Copies, OfTensorsInOneBlockOfMemoryLieInOneBlockAtTheSameDistances) {
  const auto flat = torch::randn({10000});
  const std::vector<torch::Tensor> tensors{flat.slice(0, 3000, 3012).view({3, 4}),
                                           flat.slice(0, 3100, 3200).view({10, 10}).t(), torch::randn({7}),
                                           flat.slice(0, 2000, 2100).view({50, 2}).select(1, 1)};
  Copies made;
  made.fit(tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(made[i].sizes(), tensors[i].sizes());
    EXPECT_EQ(made[i].strides(), tensors[i].strides());
    EXPECT_FALSE(made[i].is_alias_of(tensors[i]));
  }
  for (const std::size_t i : {1, 3}) {
    EXPECT_TRUE(made[i].is_alias_of(made[0]));
    EXPECT_EQ(bytes_between(made[0], made[i]), bytes_between(tensors[0], tensors[i]));
  }
  EXPECT_FALSE(made[2].is_alias_of(made[0]));
}

// Not the whole block, of which a model may use a corner.
TEST(Copies, TakeTheMemoryThatTheTensorsSpanAndNoMore) {
  const auto flat = torch::randn({1 << 20});
  const std::vector<torch::Tensor> tensors{flat.slice(0, 5000, 5100), flat.slice(0, 5200, 5300)};
  Copies made;
  made.fit(tensors);
  EXPECT_LE(Copies::bytes_for(tensors), 300 * 4 + 512);
  EXPECT_EQ(static_cast<std::int64_t>(made[0].storage().nbytes()), Copies::bytes_for(tensors));
}

// A vector load that was aligned still is.
TEST(Copies, AreAlignedAsTheTensorsAre) {
  const auto flat = torch::randn({1000});
  for (const std::int64_t first : {0, 1, 16, 127, 128, 129}) {
    const auto tensor = flat.slice(0, first, first + 20);
    Copies made;
    made.fit({tensor});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made[0].data_ptr()) % 64,
              reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64)
        << first;
  }
}

TEST(Copies, AreKeptUntilATensorChangesItsKind) {
  auto w = torch::randn({5, 5});
  Copies made;
  made.fit({w});
  const auto* const memory = made[0].data_ptr();
  made.fit({torch::randn({5, 5})});
  EXPECT_EQ(memory, made[0].data_ptr());
  made.fit({w.t()});
  EXPECT_EQ(made[0].strides(), w.t().strides());
  made.fit({w.to(torch::kDouble)});
  EXPECT_EQ(made[0].scalar_type(), torch::kDouble);
  made.fit({w, w.clone()});
  EXPECT_FALSE(made[0].is_alias_of(made[1]));
}

TEST(Copies, OfEmptyAndSparseTensorsAreMadeToo) {
  Copies made;
  made.fit({torch::empty({0, 3}), torch::eye(3).to_sparse(), torch::ones({})});
  EXPECT_EQ(made[0].numel(), 0);
  EXPECT_TRUE(made[1].is_sparse());
  EXPECT_EQ(made[2].dim(), 0);
}

TEST(Swap, PointsTensorsElsewhereAndBackWithoutChangingTheirVersions) {
  auto w = torch::ones({3}).set_requires_grad(true);
  auto buffer = torch::ones({2});
  buffer += 1;
  const auto versions = std::make_pair(w._version(), buffer._version());
  const auto loss = (w * w).sum() * buffer.sum() + (buffer.sqrt() * w.slice(0, 0, 2)).sum();  // saves both
  const auto* const memory = w.data_ptr();
  {
    Swap swap;
    swap.point(w, torch::full({3}, 5.0f));
    swap.point(buffer, torch::full({2}, 7.0f));
    EXPECT_EQ(w.sum().item<float>(), 15);
    EXPECT_TRUE(w.requires_grad() && w.is_leaf());
    buffer.zero_();
    const torch::NoGradGuard no_grad;
    w.zero_();
  }
  EXPECT_EQ(versions, std::make_pair(w._version(), buffer._version()));
  EXPECT_EQ(memory, w.data_ptr());
  EXPECT_TRUE(torch::equal(w, torch::ones({3})));
  EXPECT_TRUE(torch::equal(buffer, torch::full({2}, 2.0f)));
  loss.backward();
  const auto root = std::sqrt(2.0f);
  EXPECT_TRUE(torch::allclose(w.grad(), torch::tensor({8 + root, 8 + root, 8.0f})));
}

TEST(Swap, OfOneTensorTwiceEndsWhereItBegan) {
  auto w = torch::ones({3});
  {
    Swap swap;
    swap.point(w, torch::zeros({3}));
    swap.point(w, torch::full({3}, 2.0f));
  }
  EXPECT_TRUE(torch::equal(w, torch::ones({3})));
}

}  // namespace
}  // namespace sadam::step
