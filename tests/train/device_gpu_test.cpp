// That the switches do what they say.
#include <torch/torch.h>

#include "support/gpu.h"
#include "support/models.h"
#include "train/device.h"

namespace sadam::train {
namespace {

/// Largest error of a product and of a convolution of random numbers, relative to the largest result.
struct Errors {
  double product, convolution;
};

Errors errors_now() {
  const auto options = torch::device(torch::kCUDA);
  const auto a = torch::randn({256, 256}, options);
  const auto x = torch::randn({16, 64, 32, 32}, options);
  const auto w = torch::randn({64, 64, 3, 3}, options);
  const auto error = [](const torch::Tensor& exact, const torch::Tensor& result) {
    return ((result.to(torch::kDouble) - exact).abs().max() / exact.abs().max()).item<double>();
  };
  return {error(torch::mm(a.to(torch::kDouble), a.to(torch::kDouble)), torch::mm(a, a)),
          error(torch::conv2d(x.to(torch::kDouble), w.to(torch::kDouble)), torch::conv2d(x, w))};
}

constexpr double kFloatError = 1e-5;
constexpr double kTf32Error = 5e-5;  // TF32 has 10 bits

TEST(PrecisionOnGpu, Float32IsFloat32) {
  SADAM_NEEDS_GPU();
  const TrainingPrecision scope(Precision::float32, /*cuda=*/true);
  const auto errors = errors_now();
  EXPECT_LT(errors.product, kFloatError);
  EXPECT_LT(errors.convolution, kFloatError);
}

TEST(PrecisionOnGpu, Tf32IsLessAndProbesInsideAreNot) {
  SADAM_NEEDS_GPU();
  const TrainingPrecision scope(Precision::tf32, /*cuda=*/true);
  const auto reduced = errors_now();
  EXPECT_GT(reduced.product, kTf32Error);
  EXPECT_GT(reduced.convolution, kTf32Error);
  {
    const step::FullPrecision probing(/*cuda=*/true);
    EXPECT_TRUE(probing.was_reduced());
    const auto full = errors_now();
    EXPECT_LT(full.product, kFloatError);
    EXPECT_LT(full.convolution, kFloatError);
  }
  EXPECT_GT(errors_now().product, kTf32Error) << "back as it was";
}

TEST(PrecisionOnGpu, Bf16AutocastsAndProbesInsideDoNot) {
  SADAM_NEEDS_GPU();
  const auto a = torch::randn({16, 16}, torch::kCUDA);
  {
    const TrainingPrecision scope(Precision::bf16, /*cuda=*/true);
    EXPECT_EQ(torch::kBFloat16, torch::mm(a, a).scalar_type());
    {
      const step::FullPrecision probing(/*cuda=*/true);
      EXPECT_EQ(torch::kFloat, torch::mm(a, a).scalar_type());
    }
    EXPECT_EQ(torch::kBFloat16, torch::mm(a, a).scalar_type());
  }
  EXPECT_EQ(torch::kFloat, torch::mm(a, a).scalar_type());
}

TEST(DeterministicOnGpu, ConvolutionsAndProductsRepeatBitForBit) {
  SADAM_NEEDS_GPU();
  const Deterministic scope;
  const auto x = torch::randn({16, 32, 28, 28}, torch::kCUDA);
  const auto w = torch::randn({32, 32, 3, 3}, torch::device(torch::kCUDA).requires_grad(true));
  const auto gradient = [&] {
    w.mutable_grad() = torch::Tensor();
    torch::conv2d(x, w).square().mean().backward();
    return w.grad().cpu();
  };
  const auto first = gradient();
  for (int i = 0; i < 5; ++i) testing::expect_same_bits({first}, {gradient()});
}

TEST(DeterministicOnGpu, WhatHasNoRepeatableAlgorithmIsRefused) {
  SADAM_NEEDS_GPU();
  const auto x = torch::rand({100}, torch::kCUDA);
  { EXPECT_NO_THROW(torch::histc(x)); }
  const Deterministic scope;
  EXPECT_ANY_THROW(torch::histc(x));
}

}  // namespace
}  // namespace sadam::train
