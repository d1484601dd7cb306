// Data sets that live on a GPU as bytes: a batch is one kernel (data/device/gather.h), and nothing waits for
// the host. A build without CUDA has the same names, which say that there is no CUDA.
#pragma once

#include <c10/core/Device.h>

#include "train/batches.h"

namespace sadam::train {

/// Bytes of device memory that a set would take, and those that are free for it.
struct DeviceRoom {
  std::size_t needed = 0;
  std::size_t free = 0;
  /// Whether it takes no more than a share of them: the rest is for the network.
  bool fits(double share = 0.5) const {
    return static_cast<double>(needed) <= share * static_cast<double>(free);
  }
};
DeviceRoom device_room(const data::ImageSet& images, c10::Device device);

/// A set on a GPU, at its own size where it is in memory (resized on the way into a batch), at the size of
/// the batches where it comes from files (which are read once, by so many threads as the options say).
class DeviceImages final : public Batches {
 public:
  /// Uploads the set, and waits for it. Throws an Error where memory does not suffice.
  DeviceImages(const data::ImageSet& images, const data::LoaderOptions& options, c10::Device device,
               const UploadProgress& progress = {});
  ~DeviceImages() override;

  std::size_t batches() const override;
  void start(std::size_t epoch, std::size_t first_batch = 0) override;
  std::size_t next(const at::Tensor& images, const at::Tensor& labels) override;
  double waited_seconds() const override { return 0; }
  std::size_t device_bytes() const override;

  /// Images [first, first + count) of the current epoch's order, to the tensors that next() takes.
  void gather(std::size_t first, std::size_t count, const at::Tensor& images, const at::Tensor& labels);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sadam::train
