#include "train/device.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "base/usage_error.h"
#include "support/refusal.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;

TEST(Device, OfNoSuchNameIsRefused) {
  EXPECT_TRUE(device_named("cpu").is_cpu());
  for (const std::string name :
       {"", "gpu", "CPU", "cpu:0", "cuda:", "cuda:-1", "cuda:1x", "cuda:1000", "cudas"})
    EXPECT_TRUE(says(refusal<UsageError>([&] { device_named(name); }), "use cpu, cuda or cuda:N.")) << name;
}

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

TEST(Deterministic, SetsTheSwitchesAndPutsThemBack) {
  auto& context = at::globalContext();
  context.setBenchmarkCuDNN(true);
  context.setDeterministicAlgorithms(true, /*warn_only=*/true);
  {
    const Deterministic scope;
    EXPECT_TRUE(context.deterministicAlgorithms());
    EXPECT_FALSE(context.deterministicAlgorithmsWarnOnly()) << "what is not repeatable must not go unnoticed";
    EXPECT_TRUE(context.deterministicCuDNN());
    EXPECT_FALSE(context.benchmarkCuDNN());
  }
  EXPECT_TRUE(context.deterministicAlgorithmsWarnOnly());
  EXPECT_FALSE(context.deterministicCuDNN());
  EXPECT_TRUE(context.benchmarkCuDNN());
  context.setBenchmarkCuDNN(false);
  context.setDeterministicAlgorithms(false, false);
}

TEST(Deterministic, TellsCublasUnlessTheUserHas) {
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
  { const Deterministic scope; }
  EXPECT_STREQ(":4096:8", std::getenv("CUBLAS_WORKSPACE_CONFIG"));
  setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
  { const Deterministic scope; }
  EXPECT_STREQ(":16:8", std::getenv("CUBLAS_WORKSPACE_CONFIG"));
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
}

template <class Exception>
std::string said_of(const char* what) {
  return refusal([&] { within_memory([&]() -> int { throw Exception(what); }); });
}

TEST(WithinMemory, WhatCudasLibrariesSayBecomesASentenceWithTheWayOut) {
  for (const char* what : {"CUDA error: out of memory\nCUDA kernel errors might be reported later.",
                           "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                           "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"})
    EXPECT_TRUE(says(said_of<std::runtime_error>(what), "a smaller train.batch")) << what;
}

TEST(WithinMemory, SoDoesWhatTorchsAllocatorThrows) {
  const auto sentence = refusal([] {
    within_memory([]() -> int { throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "no room"); });
  });
  EXPECT_TRUE(says(sentence, "a smaller train.batch"));
}

TEST(WithinMemory, OtherErrorsPassUnchanged) {
  EXPECT_EQ(within_memory([] { return 3; }), 3);
  EXPECT_THROW(within_memory([]() -> int { throw std::out_of_range("a shape\nout of memory"); }),
               std::out_of_range);
  const std::string ours = "the folder 'out of memory' is empty: name another.";
  EXPECT_EQ(said_of<Error>(ours.c_str()), ours);
}

}  // namespace
}  // namespace sadam::train
