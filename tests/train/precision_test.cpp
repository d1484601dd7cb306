#include "train/precision.h"

#include <gtest/gtest.h>
#include <sadam/error.h>
#include <torch/torch.h>

#include <cstring>

namespace sadam::train {
namespace {

TEST(TrainingPrecision, Float32SwitchesOffWhatTorchStartsWith) {
  const bool before = at::globalContext().allowTF32CuDNN();
  {
    const TrainingPrecision scope(Precision::float32, /*cuda=*/true);
    EXPECT_FALSE(at::globalContext().allowTF32CuDNN());
    EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
    EXPECT_FALSE(step::FullPrecision(/*cuda=*/true).was_reduced()) << "f(w) need not be evaluated again";
  }
  EXPECT_EQ(before, at::globalContext().allowTF32CuDNN());
}

TEST(TrainingPrecision, Tf32IsForGpusAndOffInProbes) {
  {
    const TrainingPrecision scope(Precision::tf32, /*cuda=*/true);
    EXPECT_TRUE(at::globalContext().allowTF32CuDNN());
    EXPECT_TRUE(at::globalContext().allowTF32CuBLAS());
    const step::FullPrecision inner(/*cuda=*/true);
    EXPECT_TRUE(inner.was_reduced());
    EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  }
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  const TrainingPrecision on_the_cpu(Precision::tf32, /*cuda=*/false);
  EXPECT_FALSE(step::FullPrecision(/*cuda=*/false).was_reduced());
}

TEST(TrainingPrecision, Bf16CastsProductsAndNothingAfterwards) {
  const auto a = torch::randn({8, 8});
  {
    const TrainingPrecision scope(Precision::bf16, /*cuda=*/false);
    EXPECT_EQ(torch::kBFloat16, torch::mm(a, a).scalar_type());
    const step::FullPrecision probing(/*cuda=*/false);
    EXPECT_EQ(torch::kFloat, torch::mm(a, a).scalar_type());
  }
  EXPECT_EQ(torch::kFloat, torch::mm(a, a).scalar_type());
}

TEST(TrainingPrecision, TheNextStepSeesTheWeightsAsTheyAreThen) {
  const auto x = torch::ones({1, 4});
  auto w = torch::ones({4, 1}).set_requires_grad(true);
  const auto step = [&] {
    const TrainingPrecision scope(Precision::bf16, /*cuda=*/false);
    return torch::mm(x, w).item<float>();
  };
  EXPECT_EQ(4, step());
  {
    const torch::NoGradGuard no_grad;
    w.fill_(2);
  }
  EXPECT_EQ(8, step()) << "a cast of the old weights was kept";
}

TEST(TrainingPrecision, IsNamedInRecipes) {
  EXPECT_EQ(Precision::float32, precision_named("float32"));
  EXPECT_EQ(Precision::tf32, precision_named("tf32"));
  EXPECT_EQ(Precision::bf16, precision_named("bf16"));
  try {
    precision_named("fp8");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(nullptr, std::strstr(error.what(), "'fp8'"));
    EXPECT_NE(nullptr, std::strstr(error.what(), "float32, tf32 or bf16"));
  }
}

}  // namespace
}  // namespace sadam::train
