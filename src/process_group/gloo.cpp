// Gloo by way of torch's c10d: with libtorch 1.13 ProcessGroupGloo is a c10d::ProcessGroup, from 2.0 on a
// c10d::Backend.
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstdlib>
#include <utility>

#include "process_group/c10d_group.h"

namespace sadam {
namespace {

using std::chrono::milliseconds;

const std::string kCaller = "make_gloo_group";

std::shared_ptr<::gloo::transport::Device> make_device(const std::string& host) {
  using c10d::ProcessGroupGloo;
  if (const char* const interface = std::getenv("GLOO_SOCKET_IFNAME"))
    return ProcessGroupGloo::createDeviceForInterface(interface);
  if (host == "localhost" || host == "127.0.0.1")  // whatever this machine's name resolves to
    return ProcessGroupGloo::createDeviceForHostname(host);
  return ProcessGroupGloo::createDefaultDevice();
}

class GlooGroup : public C10dGroup {
 public:
  GlooGroup(c10::intrusive_ptr<c10d::Store> met_at, const RankOptions& options)
      : C10dGroup(std::move(met_at), options, kCaller) {
    auto gloo = c10d::ProcessGroupGloo::Options::create(timeout());
    try {
      gloo->devices.push_back(make_device(options.host()));
      gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store(), rank(), size(), gloo);
    } catch (const std::exception& error) {
      throw Error(kCaller + ": rank " + std::to_string(rank()) + " could not connect to the others (" +
                  first_line(error) + "): see that they reach each other, or set GLOO_SOCKET_IFNAME.");
    }
  }

 private:
  WorkPtr launch_sum(std::vector<torch::Tensor>& one) override { return gloo_->allreduce(one); }
  WorkPtr launch_broadcast(std::vector<torch::Tensor>& one) override { return gloo_->broadcast(one); }
  void check_place(const torch::Tensor& tensor) const override {
    if (!tensor.is_cpu())
      throw Error("a Gloo group works on the CPU, and a tensor is elsewhere: train the model there.");
  }
  bool is_over(c10d::Work& work, milliseconds limit) override {
    try {
      return work.wait(limit);
    } catch (const std::exception&) {
      if (work.isCompleted()) throw;
      return false;
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
};

}  // namespace

bool has_gloo() { return true; }

std::shared_ptr<ProcessGroup> make_gloo_group(const RankOptions& options) {
  check(options, kCaller);
  return std::make_shared<GlooGroup>(make_store(options, kCaller), options);
}

std::shared_ptr<ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                              const RankOptions& options) {
  check(options, kCaller);
  if (!store) throw Error(kCaller + ": there is no store: pass one, or a host and a port.");
  return std::make_shared<GlooGroup>(store, options);
}

}  // namespace sadam
