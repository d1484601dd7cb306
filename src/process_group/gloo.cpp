// Gloo by way of torch's c10d: with libtorch 1.13 ProcessGroupGloo is a c10d::ProcessGroup, from 2.0 on a
// c10d::Backend.
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <ATen/ops/empty_like.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstdlib>
#include <utility>

#include "process_group/c10d_group.h"

namespace sadam {
namespace {

using std::chrono::milliseconds;

const std::string kMakeGloo = "make_gloo_group";

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
      : C10dGroup(std::move(met_at), options, kMakeGloo) {
    auto gloo = c10d::ProcessGroupGloo::Options::create(timeout());
    try {
      gloo->devices.push_back(make_device(options.host()));
      gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store(), rank(), size(), gloo);
    } catch (const std::exception& error) {
      throw Error(kMakeGloo + ": " + why(error) + " If all are there, set GLOO_SOCKET_IFNAME.");
    }
  }

 private:
  /// Gloo's sum goes round the ranks, twice, in pieces of a few numbers, each of which waits for the one
  /// before. Where a message is short, all send theirs to all, and add them up in the order of the ranks.
  Pending launch_sum(std::vector<at::Tensor>& one) override {
    constexpr std::size_t kShort = 4096;
    constexpr int kMostRanks = 128;
    const auto& tensor = one.front();
    const bool is_short = tensor.numel() > 0 && tensor.nbytes() <= kShort;
    if (!is_short || size() <= 2 || size() > kMostRanks) return {gloo_->allreduce(one)};
    auto mine = tensor.reshape({1, -1}).repeat({size(), 1}).view({-1});
    auto all = at::empty_like(mine);
    std::vector<std::int64_t> evenly;
    return {gloo_->alltoall_base(all, mine, evenly, evenly), [tensor, mine, all, ranks = size()] {
              const auto rows = all.view({ranks, tensor.numel()});
              const auto sum = tensor.view({-1});
              sum.copy_(rows[0]);
              for (int r = 1; r < ranks; ++r) sum.add_(rows[r]);
            }};
  }
  Pending launch_broadcast(std::vector<at::Tensor>& one) override { return {gloo_->broadcast(one)}; }
  void check_place(const at::Tensor& tensor) const override {
    if (!tensor.is_cpu())
      throw Error("a Gloo group works on the CPU, and a tensor is elsewhere: train the model there.");
  }
  bool is_over(c10d::Work& work, milliseconds limit) override { return is_over_within(work, limit); }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
};

}  // namespace

bool has_gloo() { return true; }

std::shared_ptr<ProcessGroup> make_gloo_group(const RankOptions& options) {
  check(options, kMakeGloo);
  return std::make_shared<GlooGroup>(make_store(options, kMakeGloo), options);
}

std::shared_ptr<ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                              const RankOptions& options) {
  check(options, kMakeGloo);
  if (!store) throw Error(kMakeGloo + ": there is no store: pass one, or a host and a port.");
  return std::make_shared<GlooGroup>(store, options);
}

}  // namespace sadam
