// Processes that train one model together, and what their optimizers say to each other.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>
#include <sadam/choices.h>
#include <sadam/error.h>
#include <torch/arg.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace c10d {
class Store;
}

namespace sadam {

/// Some processes, the ranks 0 … size − 1, each with a copy of the model. All of them call the same functions
/// in the same order. A call that fails throws `sadam::Error`, on every rank within the group's time limit.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  virtual ~ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Replaces each tensor by its sum over all ranks, the same to the bit on every rank. One call is one round
  /// of messages, however many tensors there are. Tensors of rank r have the shapes of those of rank 0.
  virtual void sum(const std::vector<at::Tensor>& tensors) = 0;
  /// The same, while the caller goes on: what it returns waits for the sums. Sums that are under way end in
  /// the order in which they were started. A group that cannot do so sums at once.
  virtual std::function<void()> start_sum(const std::vector<at::Tensor>& tensors) {
    sum(tensors);
    return [] {};
  }
  /// Replaces each tensor by that of rank 0:
  ///
  ///     group->broadcast(model->parameters());
  virtual void broadcast(const std::vector<at::Tensor>& tensors) = 0;
  /// Waits for work on a device that includes sums. A group with a time limit throws when it is over.
  virtual void wait_until(const std::function<bool()>& is_done) {
    while (!is_done()) std::this_thread::yield();
  }
};

/// How an optimizer works with a group: the same on every rank.
struct GroupOptions {
  /// What is shared out.
  TORCH_ARG(Split, split) = Split::batch;
  /// Every so many steps, the ranks compare their weights, and throw where they differ. 0: in the first step
  /// only. It costs a pass over the weights.
  TORCH_ARG(std::int64_t, check_ranks_every) = 0;
  /// Gradients are sent together up to so many bytes, each lot as soon as the backward pass has all of it.
  TORCH_ARG(std::int64_t, bucket_bytes) = 25 << 20;
};

/// Which rank this is, and how it meets the others.
struct RankOptions {
  /// What torchrun, mpirun (Open MPI, MPICH) or srun has told this process; nothing where none of them has
  /// started it. Of `MASTER_ADDR` and `MASTER_PORT`, which torchrun sets, the first is needed for mpirun on
  /// several machines; `SADAM_RANK_TIMEOUT` is `timeout` in seconds. Throws where a variable makes no sense.
  static std::optional<RankOptions> from_environment();
  /// Sets `timeout` to what `SADAM_RANK_TIMEOUT` says, if it says anything.
  RankOptions& timeout_from_environment();

  /// Where rank 0 waits for the others: a name or an address.
  TORCH_ARG(std::string, host) = "localhost";
  TORCH_ARG(int, port) = 29500;
  TORCH_ARG(int, rank) = 0;
  TORCH_ARG(int, size) = 1;
  /// How long a rank waits for the others before it gives up.
  TORCH_ARG(std::chrono::milliseconds, timeout) = std::chrono::minutes(5);
  /// Which rank this is among those of its machine, and how many these are: for its GPU and its threads.
  TORCH_ARG(int, local_rank) = 0;
  TORCH_ARG(int, local_size) = 1;
  /// Whether somebody else, such as torchrun, keeps the store at host and port. Else rank 0 does.
  TORCH_ARG(bool, store_is_there) = false;
  /// What sets this group's keys apart from those of other groups in that store.
  TORCH_ARG(std::string, prefix);
};

/// A group over TCP, for tensors on the CPU; waits until all ranks are there. `GLOO_SOCKET_IFNAME` chooses
/// the network interface. Throws where the library was built without Gloo.
std::shared_ptr<ProcessGroup> make_gloo_group(const RankOptions& options);
/// The same over a store of torch's, instead of a host and a port. Each group needs a store, or a prefix of
/// one, of its own.
std::shared_ptr<ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                              const RankOptions& options);

/// Whether the library was built with Gloo.
bool has_gloo();

/// A group over NCCL, for tensors on this GPU; waits until all ranks are there. Two ranks on one GPU need
/// another `NCCL_HOSTID` each. Throws where the library was built without NCCL.
std::shared_ptr<ProcessGroup> make_nccl_group(const RankOptions& options,
                                              c10::Device device = c10::DeviceType::CUDA);
/// The same over a store of torch's.
std::shared_ptr<ProcessGroup> make_nccl_group(const c10::intrusive_ptr<c10d::Store>& store,
                                              const RankOptions& options,
                                              c10::Device device = c10::DeviceType::CUDA);

/// Whether the library was built with NCCL.
bool has_nccl();

}  // namespace sadam
