#include "step/gradient_sums.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <sadam/error.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace sadam::step {

/// Called when the gradient of a parameter is complete.
class GradientSums::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(GradientSums& sums, std::size_t item) : sums_(sums), item_(item) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    sums_.arrived(item_);
    return outputs;
  }

 private:
  GradientSums& sums_;
  std::size_t item_;
};

GradientSums::GradientSums(ProcessGroup& group, const Items& items, double weight, std::int64_t bucket_bytes)
    : group_(group), items_(items), weight_(weight), places_(items.size()), has_arrived_(items.size()) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    std::int64_t count = 0;  // of numbers in the last bucket
    bool is_open = false;
    for (std::size_t i = items.size(); i-- > 0;) {
      const auto& parameter = items[i].parameter;
      if (parameter.scalar_type() != type) continue;
      const auto bytes = (count + parameter.numel()) * static_cast<std::int64_t>(parameter.itemsize());
      if (!is_open || (bytes > bucket_bytes && count > 0)) {
        buckets_.emplace_back();
        count = 0;
        is_open = true;
      }
      auto& bucket = buckets_.back();
      places_[i] = {buckets_.size() - 1, count};
      bucket.items.push_back(i);
      ++bucket.missing;
      count += parameter.numel();
    }
  }
}

GradientSums::~GradientSums() { stop_watching(); }

void GradientSums::watch() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    auto node = torch::autograd::impl::grad_accumulator(items_[i].parameter);
    if (!node) continue;
    const auto hook = node->add_post_hook(std::make_unique<Hook>(*this, i));
    watched_.push_back({std::move(node), hook});
  }
}

void GradientSums::stop_watching() {
  for (const auto& watched : std::exchange(watched_, {})) watched.node->del_post_hook(watched.hook);
}

void GradientSums::arrived(std::size_t item) {
  const auto bucket = places_[item].first;
  if (has_arrived_[item] && bucket < sent_)
    throw Error(
        "a gradient came twice in one backward pass, as with reentrant checkpoints of a layer that is used "
        "twice: use checkpoints that are not reentrant, or call backward yourself and average_gradients().");
  if (has_arrived_[item]) return;
  has_arrived_[item] = true;
  --buckets_[bucket].missing;
  for (; sent_ < buckets_.size() && buckets_[sent_].missing == 0; ++sent_)
    send(buckets_[sent_], /*zeros=*/false);
}

void GradientSums::send(Bucket& bucket, bool zeros) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> pieces;
  for (const auto i : bucket.items) {
    const auto& parameter = items_[i].parameter;
    const auto& gradient = items_[i].gradient();
    // What is wrong with one is said later, to all ranks.
    const bool counts = !zeros && weight_ > 0 && gradient.defined() && gradient.layout() == at::kStrided &&
                        gradient.numel() == parameter.numel() &&
                        gradient.scalar_type() == parameter.scalar_type() &&
                        gradient.device() == parameter.device();
    pieces.push_back(counts ? gradient.detach().reshape({-1})
                            : at::zeros({parameter.numel()}, parameter.options().requires_grad(false)));
  }
  bucket.sum = at::cat(pieces);
  if (weight_ != 1) bucket.sum.mul_(weight_);
  bucket.wait = group_.start_sum({bucket.sum});
}

void GradientSums::send_rest(bool zeros) {
  stop_watching();
  for (; sent_ < buckets_.size(); ++sent_) send(buckets_[sent_], zeros);
}

void GradientSums::wait() {
  for (const auto& bucket : buckets_) bucket.wait();
}

at::Tensor GradientSums::sum_of(std::size_t item) const {
  const auto& parameter = items_[item].parameter;
  const auto& [bucket, at] = places_[item];
  return buckets_[bucket].sum.narrow(0, at, parameter.numel()).view(parameter.sizes());
}

std::vector<at::Tensor> GradientSums::sums() const {
  std::vector<at::Tensor> all;
  for (const auto& bucket : buckets_) all.push_back(bucket.sum);
  return all;
}

}  // namespace sadam::step
