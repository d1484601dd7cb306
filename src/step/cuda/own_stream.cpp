#include "step/cuda/own_stream.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <vector>

namespace sadam::step::cuda {
namespace {

struct Shelf {
  std::mutex mutex;
  std::map<std::pair<int, int>, std::vector<cudaStream_t>> streams;  // by device and priority
};

// Never destroyed: a step in a global variable may go after it.
Shelf& shelf() {
  static auto* const one = new Shelf;
  return *one;
}

}  // namespace

OwnStream::OwnStream(int priority, c10::Device device) : priority_(priority), device_(device) {
  const std::lock_guard<std::mutex> lock(shelf().mutex);
  auto& kept = shelf().streams[{device_.index(), priority_}];
  if (!kept.empty()) {
    stream_ = kept.back();
    kept.pop_back();
    return;
  }
  const c10::cuda::CUDAGuard guard(device_);
  C10_CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority_));
}

OwnStream::~OwnStream() {
  if (stream_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(shelf().mutex);
  shelf().streams[{device_.index(), priority_}].push_back(stream_);
}

}  // namespace sadam::step::cuda
