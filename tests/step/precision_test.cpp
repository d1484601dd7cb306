#include "step/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <stdexcept>
#include <string>

namespace sadam::step {
namespace {

#define SADAM_TEST_TORCH_IS_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

#if SADAM_TEST_TORCH_IS_AT_LEAST(2, 4)
bool gpu_autocasts() { return at::autocast::is_autocast_enabled(at::kCUDA); }
at::ScalarType gpu_type() { return at::autocast::get_autocast_dtype(at::kCUDA); }
#else
bool gpu_autocasts() { return at::autocast::is_enabled(); }
at::ScalarType gpu_type() { return at::autocast::get_autocast_gpu_dtype(); }
#endif

/// Everything as torch starts, before and after each test.
class FullPrecisionTest : public ::testing::Test {
 protected:
  ~FullPrecisionTest() override { as_torch_starts_.restore(); }
  at::Context& context_ = at::globalContext();

 private:
  PrecisionState as_torch_starts_;
};

TEST_F(FullPrecisionTest, WhatTorchStartsWithIsReducedOnGpusAlone) {
  ASSERT_TRUE(context_.allowTF32CuDNN());
  EXPECT_FALSE(FullPrecision(/*cuda=*/false).was_reduced());
  EXPECT_TRUE(FullPrecision(/*cuda=*/true).was_reduced());
}

TEST_F(FullPrecisionTest, LookingChangesNothing) {
  context_.setFloat32MatmulPrecision(std::string("high"));
  const PrecisionState state;
  const Precision precision;
  EXPECT_TRUE(context_.allowTF32CuDNN());
  EXPECT_TRUE(context_.allowTF32CuBLAS());
  EXPECT_TRUE(precision == Precision());
}

TEST_F(FullPrecisionTest, ALookKnowsOneSettingFromAnother) {
  const Precision at_start;
  context_.setFloat32MatmulPrecision(std::string("high"));
  EXPECT_FALSE(at_start == Precision());
  EXPECT_TRUE(Precision().is_reduced(/*cuda=*/true));
  EXPECT_FALSE(Precision().is_reduced(/*cuda=*/false));
  context_.setFloat32MatmulPrecision(std::string("highest"));
  EXPECT_TRUE(at_start == Precision());
  use_autocast(/*cuda=*/false, at::kBFloat16);
  EXPECT_FALSE(at_start == Precision());
  EXPECT_TRUE(Precision().is_reduced(/*cuda=*/false));
}

// What is reduced for the other kind of device belongs to others, such as a thread that trains there.
TEST_F(FullPrecisionTest, TouchesNothingWhereNothingIsReduced) {
  context_.setAllowTF32CuDNN(true);
  context_.setFloat32MatmulPrecision(std::string("high"));
  use_autocast(/*cuda=*/true, at::kBFloat16);
  {
    const FullPrecision scope(/*cuda=*/false);
    EXPECT_FALSE(scope.was_reduced());
    EXPECT_TRUE(context_.allowTF32CuDNN());
    EXPECT_EQ(at::Float32MatmulPrecision::HIGH, context_.float32MatmulPrecision());
    EXPECT_TRUE(gpu_autocasts());
    context_.setAllowTF32CuDNN(false);  // another thread, meanwhile
  }
  EXPECT_FALSE(context_.allowTF32CuDNN()) << "what was not touched is not put back";
}

TEST_F(FullPrecisionTest, BothOldFlagsAreOffInsideAndBackAfterwards) {
  for (const bool cudnn : {false, true})
    for (const std::string matmul : {"highest", "high", "medium"}) {
      context_.setAllowTF32CuDNN(cudnn);
      context_.setFloat32MatmulPrecision(matmul);
      const auto before = context_.float32MatmulPrecision();
      {
        const FullPrecision scope(/*cuda=*/true);
        EXPECT_EQ(cudnn || matmul != "highest", scope.was_reduced()) << matmul;
        EXPECT_FALSE(context_.allowTF32CuDNN());
        EXPECT_FALSE(context_.allowTF32CuBLAS());
        EXPECT_EQ(at::Float32MatmulPrecision::HIGHEST, context_.float32MatmulPrecision());
      }
      EXPECT_EQ(cudnn, context_.allowTF32CuDNN());
      EXPECT_EQ(before, context_.float32MatmulPrecision());
    }
}

TEST_F(FullPrecisionTest, BfloatInMatrixProductsIsReducedOnTheCpu) {
  context_.setFloat32MatmulPrecision(std::string("medium"));
  EXPECT_TRUE(FullPrecision(/*cuda=*/false).was_reduced());
}

TEST_F(FullPrecisionTest, AutocastingIsOffInsideAndBackAfterwardsWithItsType) {
  use_autocast(/*cuda=*/true, at::kBFloat16);
  {
    const FullPrecision scope(/*cuda=*/true);
    EXPECT_TRUE(scope.was_reduced());
    EXPECT_FALSE(gpu_autocasts());
  }
  EXPECT_TRUE(gpu_autocasts());
  EXPECT_EQ(at::kBFloat16, gpu_type());
  EXPECT_FALSE(FullPrecision(/*cuda=*/false).was_reduced()) << "the CPU does not autocast";
}

TEST_F(FullPrecisionTest, ScopesNest) {
  context_.setFloat32MatmulPrecision(std::string("high"));
  {
    const FullPrecision outer(/*cuda=*/true);
    const FullPrecision inner(/*cuda=*/true);
    EXPECT_FALSE(inner.was_reduced());
  }
  EXPECT_EQ(at::Float32MatmulPrecision::HIGH, context_.float32MatmulPrecision());
}

TEST_F(FullPrecisionTest, IsUndoneWhenSomethingThrows) {
  context_.setFloat32MatmulPrecision(std::string("high"));
  const auto failing = [] {
    const FullPrecision scope(/*cuda=*/true);
    throw std::runtime_error("out of patience");
  };
  EXPECT_THROW(failing(), std::runtime_error);
  EXPECT_TRUE(context_.allowTF32CuBLAS());
}

TEST_F(FullPrecisionTest, Tf32AllowsItInProductsAndConvolutions) {
  use_full_precision();
  use_tf32();
  EXPECT_TRUE(context_.allowTF32CuDNN());
  EXPECT_TRUE(context_.allowTF32CuBLAS());
  EXPECT_FALSE(FullPrecision(/*cuda=*/false).was_reduced());
  EXPECT_TRUE(FullPrecision(/*cuda=*/true).was_reduced());
}

#if SADAM_TEST_TORCH_IS_AT_LEAST(2, 11)
using Library = at::Float32Backend;
using Op = at::Float32Op;
using Mode = at::Float32Precision;

TEST_F(FullPrecisionTest, EverySettingOfOneOperationIsOffInsideAndBackAfterwards) {
  for (const auto op : {Op::CONV, Op::RNN, Op::MATMUL})
    for (const auto mode : {Mode::NONE, Mode::IEEE, Mode::TF32}) {
      use_full_precision();
      context_.setFloat32Precision(Library::CUDA, op, mode);  // disagrees with the old flags if it is TF32
      {
        const FullPrecision scope(/*cuda=*/true);
        EXPECT_EQ(mode == Mode::TF32, scope.was_reduced());
        EXPECT_EQ(Mode::IEEE, context_.float32Precision(Library::CUDA, op));
        EXPECT_NO_THROW(context_.allowTF32CuBLAS());
        EXPECT_NO_THROW(context_.allowTF32CuDNN());
        EXPECT_NO_THROW(context_.float32MatmulPrecision());
      }
      // An unset one follows the device's, which use_full_precision() set.
      const auto expected = mode == Mode::NONE ? Mode::IEEE : mode;
      EXPECT_EQ(expected, context_.float32Precision(Library::CUDA, op));
    }
}

TEST_F(FullPrecisionTest, ASettingForEverythingIsOffInsideAndStillInheritedAfterwards) {
  for (const auto parent : {Library::GENERIC, Library::CUDA}) {
    for (const auto backend : {Library::GENERIC, Library::CUDA})
      context_.setFloat32Precision(backend, Op::ALL, Mode::NONE);
    for (const auto op : {Op::CONV, Op::RNN, Op::MATMUL})
      context_.setFloat32Precision(Library::CUDA, op, Mode::NONE);
    context_.setFloat32Precision(parent, Op::ALL, Mode::TF32);
    {
      const FullPrecision scope(/*cuda=*/true);
      EXPECT_TRUE(scope.was_reduced());
      for (const auto op : {Op::CONV, Op::RNN, Op::MATMUL})
        EXPECT_EQ(Mode::IEEE, context_.float32Precision(Library::CUDA, op));
    }
    EXPECT_EQ(Mode::TF32, context_.float32Precision(Library::CUDA, Op::CONV));
    context_.setFloat32Precision(parent, Op::ALL, Mode::IEEE);
    for (const auto op : {Op::CONV, Op::RNN, Op::MATMUL})
      EXPECT_EQ(Mode::IEEE, context_.float32Precision(Library::CUDA, op)) << "it follows its parent still";
  }
}

TEST_F(FullPrecisionTest, BfloatInConvolutionsIsReducedOnTheCpuAlone) {
  context_.setAllowTF32CuDNN(false);
  context_.setFloat32Precision(Library::MKLDNN, Op::CONV, Mode::BF16);
  EXPECT_TRUE(FullPrecision(/*cuda=*/false).was_reduced());
  EXPECT_FALSE(FullPrecision(/*cuda=*/true).was_reduced());
  EXPECT_EQ(Mode::BF16, context_.float32Precision(Library::MKLDNN, Op::CONV));
}

TEST_F(FullPrecisionTest, AnOldFlagThatDisagreesWithTheSettingsIsKept) {
  for (const bool flag : {false, true}) {
    context_.setAllowTF32CuDNN(flag);
    context_.setFloat32Precision(Library::CUDA, Op::CONV, flag ? Mode::IEEE : Mode::TF32);
    { const FullPrecision scope(/*cuda=*/true); }
    EXPECT_ANY_THROW(context_.allowTF32CuDNN()) << "torch says that they disagree";
    context_.setFloat32Precision(Library::CUDA, Op::CONV, flag ? Mode::TF32 : Mode::IEEE);
    EXPECT_EQ(flag, context_.allowTF32CuDNN());
  }
}
#endif

}  // namespace
}  // namespace sadam::step
