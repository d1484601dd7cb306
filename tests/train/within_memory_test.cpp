#include "train/within_memory.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace sadam::train {
namespace {

template <class Exception>
std::string said_of(const char* what) {
  try {
    within_memory([&]() -> int { throw Exception(what); });
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(WithinMemory, WhatCudasLibrariesSayBecomesASentenceWithTheWayOut) {
  for (const char* what : {"CUDA error: out of memory\nCUDA kernel errors might be reported later.",
                           "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                           "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"})
    EXPECT_NE(said_of<std::runtime_error>(what).find("a smaller train.batch"), std::string::npos) << what;
}

TEST(WithinMemory, SoDoesWhatTorchsAllocatorThrows) {
  try {
    within_memory([]() -> int { throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "no room"); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a smaller train.batch"), std::string::npos);
  }
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
