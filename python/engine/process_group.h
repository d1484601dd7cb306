// The processes that Python already has together: a group of torch.distributed's, of any backend.
#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <sadam/process_group.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "options.h"
#ifdef SADAM_HAVE_C10D
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace sadam::python {

#ifdef SADAM_HAVE_C10D
class TorchGroup : public ProcessGroup {
 public:
  /// Refuses a group that cannot send from where the parameters are.
  TorchGroup(c10::intrusive_ptr<c10d::ProcessGroup> group, at::Device device) : group_(std::move(group)) {
    if (!works_on(device.type()))
      throw Error("the process group has the backend '" + group_->getBackendName() +
                  "', which sends nothing from the " + (device.is_cpu() ? "CPU" : "GPU") +
                  ", where the parameters are: use 'gloo' for a CPU and 'nccl' for GPUs.");
    // Connects: a capture cannot.
    if (device.is_cuda()) sum({at::zeros({1}, at::TensorOptions().dtype(at::kDouble).device(device))});
  }

  int rank() const override { return group_->getRank(); }
  int size() const override { return group_->getSize(); }

  void sum(const std::vector<torch::Tensor>& tensors) override { start_sum(tensors)(); }
  std::function<void()> start_sum(const std::vector<torch::Tensor>& tensors) override {
    return exchange(tensors, [this](std::vector<torch::Tensor>& one) { return group_->allreduce(one); });
  }
  void broadcast(const std::vector<torch::Tensor>& tensors) override {
    exchange(tensors, [this](std::vector<torch::Tensor>& one) { return group_->broadcast(one); })();
  }

 private:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  bool works_on(at::DeviceType type) const {
#if TORCH_VERSION_MAJOR >= 2
    try {
      return group_->getBackend(type) != nullptr;
    } catch (const std::exception&) {
      return false;  // a group has a backend for each kind of device
    }
#else
    return type != at::kCPU || group_->getBackendName() != "nccl";
#endif
  }

  /// Returns what waits for the answers.
  template <class Launch>
  std::function<void()> exchange(const std::vector<torch::Tensor>& tensors, const Launch& launch) {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> sent;  // without gaps, as c10d wants them
    for (const auto& tensor : tensors) sent.push_back(tensor.detach().contiguous());
    std::vector<WorkPtr> works;
    or_give_up([&] {
      for (const auto& tensor : sent) {
        std::vector<torch::Tensor> one{tensor};
        works.push_back(launch(one));
      }
    });
    return [this, tensors, sent = std::move(sent), works = std::move(works)] {
      const torch::NoGradGuard not_needed;
      or_give_up([&] {
        for (const auto& work : works) work->wait();
      });
      for (std::size_t i = 0; i < tensors.size(); ++i)
        if (!sent[i].is_alias_of(tensors[i])) tensors[i].detach().copy_(sent[i]);
    };
  }

  template <class Work>
  void or_give_up(const Work& work) {
    if (!lost_.empty()) throw Error(lost_);
    try {
      work();
    } catch (const std::exception& error) {
      std::string what = error.what();
      what = what.substr(0, what.find('\n'));  // without the stack
      while (!what.empty() && (what.back() == '.' || what.back() == ' ')) what.pop_back();
      lost_ = "rank " + std::to_string(rank()) + " of " + std::to_string(size()) +
              " gave up, because it lost the others (" + what +
              "): look at what those processes say, and start all again.";
      throw Error(lost_);
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::string lost_;  // why the group is of no use any more
};
#endif

inline std::shared_ptr<ProcessGroup> group_from([[maybe_unused]] const py::object& group,
                                                [[maybe_unused]] at::Device device) {
#ifdef SADAM_HAVE_C10D
  return std::make_shared<TorchGroup>(group.cast<c10::intrusive_ptr<c10d::ProcessGroup>>(), device);
#else
  throw Error("this sadam was built for a torch without torch.distributed: train in one process.");
#endif
}

inline GroupOptions group_options_from(const py::object& split, const py::object& check_ranks_every) {
  GroupOptions options;
  if (!py::isinstance<py::str>(split)) refuse_type("split", split, "batch or probes");
  const auto name = split.cast<std::string>();
  if (name != "batch" && name != "probes")
    throw Error("'" + name + "' is no value of 'split': use batch or probes.");
  options.split(name == "batch" ? Split::batch : Split::probes);
  take_value("check_ranks_every", check_ranks_every, options.check_ranks_every());
  return options;
}

}  // namespace sadam::python
