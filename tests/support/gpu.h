// Tests that need a GPU say so first, and are skipped where there is none.
#pragma once

#include <gtest/gtest.h>
#include <torch/cuda.h>

#define SADAM_NEEDS_GPU() \
  if (!torch::cuda::is_available()) GTEST_SKIP() << "there is no GPU here, or libtorch has no CUDA"
