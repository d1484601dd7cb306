#include "train/determinism.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sadam::train {
namespace {

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

}  // namespace
}  // namespace sadam::train
