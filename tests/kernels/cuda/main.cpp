#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int gpus = 0;
  const auto error = cudaGetDeviceCount(&gpus);
  if (error == cudaSuccess && gpus > 0) return RUN_ALL_TESTS();
  std::printf("cuda_kernels_test: skipped but for what needs no GPU, because there is none here (%s).\n",
              error == cudaSuccess ? "no device" : cudaGetErrorString(error));
  testing::GTEST_FLAG(filter) = "WithoutGpu.*";
  const int failed = RUN_ALL_TESTS();
  return failed != 0 ? failed : 77;
}
