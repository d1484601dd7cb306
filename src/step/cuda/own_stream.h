// Streams that are captured.
#pragma once

#include <c10/cuda/CUDAStream.h>

#include <utility>

namespace sadam::step::cuda {

/// A stream that nobody else has. Those of torch's pool are given to several, and whatever another thread
/// enqueues on one that is being captured would be in the graph. Streams that have gone are used again,
/// because libraries hold a workspace for each that they have seen.
class OwnStream {
 public:
  OwnStream(int priority, c10::Device device);
  ~OwnStream();
  OwnStream(OwnStream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)), priority_(other.priority_), device_(other.device_) {}
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  OwnStream& operator=(OwnStream&&) = delete;

  c10::cuda::CUDAStream get() const { return c10::cuda::getStreamFromExternal(stream_, device_.index()); }

 private:
  cudaStream_t stream_ = nullptr;
  int priority_;
  c10::Device device_;
};

}  // namespace sadam::step::cuda
