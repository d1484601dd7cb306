// What a captured step consists of.
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/nn/module.h>

#include "../../probe/loss.h"
#include "../../probe/precision.h"
#include "../access.h"
#include "graph_engine.h"

namespace sadam::optim::cuda {

at::Tensor GraphEngine::evaluate(torch::nn::Module& module, const Inputs& prepared) const {
  at::autocast::clear_cache();
  const at::NoGradGuard no_grad;
  auto loss = request_.loss(module, prepared);
  probe::check_loss(loss, "probe");
  return loss.reshape({});
}

at::Tensor GraphEngine::enqueue(const Inputs& inputs, bool probing, bool apply,
                                at::CUDAGeneratorState* generator) {
  auto& device = work();
  auto& numbers = device.numbers();
  const auto main = c10::cuda::getCurrentCUDAStream(device_.index());
  if (apply) device.start();
  const auto prepared = request_.prepared(inputs);
  buffers_->keep();
  const auto drawn_before = generator != nullptr ? generator->offset_intragraph_ : 0;
  at::cuda::CUDAEvent ready;
  ready.record(main);

  at::Tensor loss;
  at::autocast::clear_cache();
  {
    const at::AutoGradMode with_gradients(true);
    loss = request_.loss(*request_.module, prepared);
  }
  probe::check_loss(loss, "GraphedStep");
  {
    const at::NoGradGuard no_grad;
    numbers.loss().copy_(loss.detach().reshape({}));
  }
  const auto drawn_after = generator != nullptr ? generator->offset_intragraph_ : 0;
  const bool shared = s_adam() != nullptr && Access::wide(*s_adam()).noise() == ProbeNoise::shared;
  const bool in_place = probing && replicas_.empty();
  // Shared noise: every probe draws what the base evaluation drew.
  const auto rewind = [&] {
    if (generator != nullptr && shared) generator->offset_intragraph_ = drawn_before;
  };

  if (probing && !in_place) {
    const auto& whole = Access::wide(*s_adam());
    const auto rule = directions_of(whole, 0);
    const probe::FullPrecision precision(/*cuda=*/true);
    const bool base_again = precision.was_reduced();
    if (is_chained()) ready.record(main);
    for (auto& replica : replicas_) {
      ready.block(replica.stream);
      const c10::cuda::CUDAStreamGuard on_stream(replica.stream);
      copy_tensors(replica.frozen);
      if (is_chained()) copy_tensors(replica.live_buffers);
    }
    ProbeTarget target;
    for (const auto& item : device.items()) target.from.push_back(item.parameter.variable_data());
    const auto probes = probes_of(whole);
    for (std::int64_t i = base_again ? -1 : 0; i < probes; ++i) {
      auto& replica = replicas_[static_cast<std::size_t>(i + 1) % replicas_.size()];
      const c10::cuda::CUDAStreamGuard on_stream(replica.stream);
      if (!is_chained()) copy_tensors(replica.buffers);
      target.to = replica.weights;
      if (i < 0) {  // f(w) in the precision of the probes
        TensorPairs weights;
        for (std::size_t j = 0; j < target.to.size(); ++j)
          for (const auto& to : target.to[j]) weights.emplace_back(to.variable_data(), target.from[j]);
        copy_tensors(weights);
      } else {
        device.launches().move(rule, i, i, groups(), target);
      }
      rewind();
      const at::Tensor into = i < 0 ? numbers.base() : numbers.probed(i);
      into.copy_(evaluate(*replica.module, prepared));
    }
    if (!base_again) {
      const at::NoGradGuard no_grad;
      numbers.base().copy_(loss.detach().reshape({}));
    }
  }
  if (generator != nullptr && shared) generator->offset_intragraph_ = drawn_after;

  backward(loss);
  device.launches().count_non_finite_gradients();
  if (in_place) {
    const auto drawn_in_all = generator != nullptr ? generator->offset_intragraph_ : 0;
    probe_in_place(loss.detach(), prepared, rewind, /*recording=*/generator != nullptr);
    if (generator != nullptr && shared) generator->offset_intragraph_ = drawn_in_all;
  } else if (probing && numbers.shape().slopes) {
    const auto rule = directions_of(Access::wide(*s_adam()), 0);
    for (std::int64_t i = 0; i < probes_of(Access::wide(*s_adam())); ++i)
      device.launches().add_slope(rule, i, i, groups());
  }
  if (probing && !in_place) {
    for (const auto& replica : replicas_) join(main, replica.stream);
    if (is_chained()) {
      TensorPairs back;
      for (const auto& [copy, live] : replicas_.front().live_buffers) back.emplace_back(live, copy);
      copy_tensors(back);
    }
  }
  at::autocast::clear_cache();  // what was cast here belongs to the graph
  if (!apply) return {};

  kernels::cuda::FinishProbes finish;
  if (s_adam() != nullptr) finish = judgement_of(Access::wide(*s_adam()));
  finish.end_group = groups().end;
  finish.probes = probing ? probes_of(Access::wide(*s_adam())) : 0;
  finish.rounding = device.rounding_of(loss);
  device.finish(finish);
  device.update(kind_of(*request_.optimizer), groups());
  copy_tensors(buffers_->back(), numbers.skip());
  return loss.detach();
}

void GraphEngine::probe_in_place(const at::Tensor& loss, const Inputs& prepared,
                                 const std::function<void()>& rewind, bool recording) {
  auto& device = work();
  auto& numbers = device.numbers();
  const auto& whole = Access::wide(*s_adam());
  const bool shared = whole.noise() == ProbeNoise::shared;
  const auto rule = directions_of(whole, 0);
  const probe::FullPrecision precision(/*cuda=*/true);
  TensorPairs after;  // the buffers as the base evaluation left them
  if (shared)
    for (const auto& buffer : buffers_->live) after.emplace_back(buffer, buffer.clone());
  const auto evaluate_into = [&](const at::Tensor& into) {
    if (shared) copy_tensors(buffers_->back());
    rewind();
    into.copy_(evaluate(*request_.module, prepared));
  };
  ProbeTarget target;
  target.from = device.take_snapshot(groups());
  for (const auto& item : device.items()) target.to.push_back({item.parameter});
  try {
    if (precision.was_reduced())
      evaluate_into(numbers.base());
    else
      numbers.base().copy_(loss.reshape({}));
    for (std::int64_t i = 0; i < probes_of(whole); ++i) {
      if (is_along_step(whole)) {
        device.launches().move_along_step(i, groups(), target);
      } else {
        device.launches().move(rule, i, i, groups(), target);
        if (numbers.shape().slopes) device.launches().add_slope(rule, i, i, groups());
      }
      evaluate_into(numbers.probed(i));
    }
  } catch (...) {
    if (!recording) device.restore_snapshot(groups());  // what is only recorded has moved nothing
    throw;
  }
  device.restore_snapshot(groups());
  copy_tensors(after);
}

}  // namespace sadam::optim::cuda
