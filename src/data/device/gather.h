// Batches made on the GPU from a data set that lies there as bytes: gathered, resized and normalised in one
// kernel, which is enqueued on a stream and never waited for. The batches are the CPU loader's
// (data/loader.h), bit for bit.
//
// Pointers are to device memory. Free of libtorch and of CUDA's headers.
#pragma once

#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace sadam::data::device {

/// The tables of Resizer::Axis: output i is the mean of inputs first[i], first[i]+1, ..., of which there are
/// count[i], with the weights from i·taps on.
struct ResizeAxis {
  const std::int32_t* first = nullptr;
  const std::int32_t* count = nullptr;
  const std::int32_t* weights = nullptr;
  std::int32_t taps = 0;
};

/// Image i of the batch is image order[first + i] of the set.
struct Gather {
  const std::uint8_t* stored = nullptr;         ///< n × 3 × height × width
  const std::int64_t* stored_labels = nullptr;  ///< n
  std::int32_t height = 0;
  std::int32_t width = 0;

  const std::uint32_t* order = nullptr;  ///< null: the set's own
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< images in the batch

  std::int32_t pixels = 0;  ///< width and height of the result, up to 16384
  ResizeAxis across;        ///< not looked at where the images have that size already
  ResizeAxis down;
  const float* normalization = nullptr;  ///< 3 × 256: what a byte becomes, for each channel

  float* images = nullptr;         ///< count × 3 × pixels × pixels; written
  std::int64_t* labels = nullptr;  ///< count; written
  bool channels_last = false;      ///< the three channels of a pixel lie together
  CUstream_st* stream = nullptr;
};

/// Throws `sadam::Error` if the driver refuses the launch.
void gather(const Gather& launch);

}  // namespace sadam::data::device
