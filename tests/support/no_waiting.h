// Tests that nothing waits for the GPU.
#pragma once

#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>

namespace sadam::testing {

/// While it lives, the current stream is busy with nothing, and torch throws where it would wait for the
/// device. Whoever waits in another way is still there when the stream is idle again.
class NoWaiting {
 public:
  NoWaiting() : stream_(c10::cuda::getCurrentCUDAStream()) {
    at::cuda::sleep(1'000'000'000);  // cycles: half a second
    c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR);
  }
  ~NoWaiting() {
    c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED);
    EXPECT_FALSE(stream_.query()) << "somebody waited for the device";
    stream_.synchronize();
  }
  NoWaiting(const NoWaiting&) = delete;
  NoWaiting& operator=(const NoWaiting&) = delete;

 private:
  c10::cuda::CUDAStream stream_;
};

}  // namespace sadam::testing
