// NCCL by way of torch's c10d.
#ifndef USE_C10D_NCCL
#define USE_C10D_NCCL
#endif
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "process_group/c10d_group.h"

namespace sadam {
namespace {

using std::chrono::milliseconds;

const std::string kMakeNccl = "make_nccl_group";

class NcclGroup : public C10dGroup {
 public:
  NcclGroup(c10::intrusive_ptr<c10d::Store> met_at, const RankOptions& options, c10::Device device)
      : C10dGroup(std::move(met_at), options, kMakeNccl), device_(device) {
    auto nccl = c10d::ProcessGroupNCCL::Options::create();
    // This group gives up first, with a sentence. Torch's own watchdog would end the process.
    nccl->timeout = timeout() + std::chrono::minutes(1);
    ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", /*overwrite=*/0);
    try {
      nccl_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(store(), rank(), size(), nccl);
      // Connects: a capture cannot.
      const c10::cuda::CUDAGuard guard(device_);
      sum({at::zeros({1}, at::TensorOptions().dtype(at::kDouble).device(device_))});
    } catch (const std::exception& error) {
      throw Error(kMakeNccl + ": rank " + std::to_string(rank()) + " could not connect to the others (" +
                  first_line(error) +
                  "): see that each has a GPU of its own, and that they reach each other.");
    }
  }

 private:
  static bool is_capturing() {
    return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
  }

  Pending launch_sum(std::vector<at::Tensor>& one) override { return {nccl_->allreduce(one)}; }
  Pending launch_broadcast(std::vector<at::Tensor>& one) override { return {nccl_->broadcast(one)}; }
  void check_place(const at::Tensor& tensor) const override {
    if (tensor.device() != device_)
      throw Error("an NCCL group works on the GPU that it was made for, " + device_.str() +
                  ", and a tensor is on " + tensor.device().str() + ": move the model there.");
  }
  /// The current stream waits for it, and so does the host, or a rank that is gone would be noticed by
  /// nobody. In a capture there is nothing to wait for yet.
  bool is_over(c10d::Work& work, milliseconds limit) override {
    work.wait();
    if (is_capturing()) return true;
    for (const auto until = std::chrono::steady_clock::now() + limit;
         std::chrono::steady_clock::now() < until;) {
      if (work.isCompleted()) {
        if (const auto error = work.exception()) std::rethrow_exception(error);
        return true;
      }
      std::this_thread::yield();
    }
    return false;
  }
  /// Torch's abort may wait for ever for a rank that is gone, and so may what comes after it at the end of
  /// the group: a thread does it, which may be left behind, and the group is never destroyed.
  void abandon() override {
    const auto aborted = std::make_shared<std::promise<void>>();
    std::thread([aborted, nccl = nccl_.get()] {
      try {
        nccl->abort();
      } catch (const std::exception&) {
        // it is of no use either way
      }
      aborted->set_value();
    }).detach();
    aborted->get_future().wait_for(std::chrono::seconds(3));
    static_cast<void>(nccl_.release());
  }

  c10::Device device_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> nccl_;
};

c10::Device checked(c10::Device device) {
  if (!device.is_cuda()) throw Error(kMakeNccl + ": NCCL works on GPUs: use make_gloo_group on the CPU.");
  return {device.type(), device.has_index() ? device.index() : c10::cuda::current_device()};
}

}  // namespace

bool has_nccl() { return true; }

std::shared_ptr<ProcessGroup> make_nccl_group(const RankOptions& options, c10::Device device) {
  check(options, kMakeNccl);
  return std::make_shared<NcclGroup>(make_store(options, kMakeNccl), options, checked(device));
}

std::shared_ptr<ProcessGroup> make_nccl_group(const c10::intrusive_ptr<c10d::Store>& store,
                                              const RankOptions& options, c10::Device device) {
  check(options, kMakeNccl);
  if (!store) throw Error(kMakeNccl + ": there is no store: pass one, or a host and a port.");
  return std::make_shared<NcclGroup>(store, options, checked(device));
}

}  // namespace sadam
