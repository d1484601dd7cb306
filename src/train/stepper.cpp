#include "train/stepper.h"

#include <sadam/adamw.h>
#include <sadam/prox_sgd.h>
#include <sadam/s_adam.h>
#include <torch/nn/module.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/serialize/archive.h>

#include <cmath>
#include <limits>
#include <utility>

#include "probe/forward_state.h"
#include "probe/option_names.h"

namespace sadam::train {
namespace {

SAdamOptions s_adam_options(const Recipe& recipe) {
  const auto& r = recipe.optimizer;
  return SAdamOptions(r.lr)
      .betas({r.beta1, r.beta2})
      .eps(r.eps)
      .weight_decay(r.weight_decay)
      .damping(r.damping)
      .brake(value_in(kBrakeNames, r.brake, "optimizer.brake"))
      .bias_correction(value_in(kBiasCorrectionNames, r.bias_correction, "optimizer.bias_correction"))
      .damp_weight_decay(r.damp_decay)
      .probes(r.probes)
      .radius(r.radius)
      .directions(value_in(kDirectionsNames, r.directions, "optimizer.directions"))
      .statistic(value_in(kStatisticNames, r.statistic, "optimizer.statistic"))
      .noise(value_in(kProbeNoiseNames, r.noise, "optimizer.noise"))
      .lgi_eps(r.lgi_eps)
      .cap(r.cap)
      .interval(r.interval)
      .group_by_group(r.group_by_group)
      .seed(static_cast<std::uint64_t>(recipe.seed));
}

// AdamW that takes a factor on its step: S-Adam with its probes switched off.
SAdamOptions braked_adamw_options(const OptimizerRecipe& r) {
  return SAdamOptions(r.lr)
      .betas({r.beta1, r.beta2})
      .eps(r.eps)
      .weight_decay(r.weight_decay)
      .bias_correction(value_in(kBiasCorrectionNames, r.bias_correction, "optimizer.bias_correction"))
      .damping(0);
}

AdamWOptions adamw_options(const OptimizerRecipe& r) {
  return AdamWOptions(r.lr).betas({r.beta1, r.beta2}).eps(r.eps).weight_decay(r.weight_decay);
}

// So that the optimizer skips the step, whatever became of the gradients of a loss that is not finite.
void spoil_gradients(Optimizer& optimizer) {
  for (const auto& group : optimizer.param_groups())
    for (const auto& parameter : group.params())
      if (parameter.grad().defined()) parameter.grad().fill_(std::numeric_limits<double>::quiet_NaN());
}

at::Tensor scaled(const StepPart& part) { return part.share == 1 ? part.loss() : part.loss() * part.share; }

}  // namespace

struct Stepper::Optimizers {
  std::unique_ptr<Optimizer> any;
  SAdam* s_adam = nullptr;  // the same one, if it is one
};

Stepper::Stepper(const torch::nn::Module& module, const Recipe& recipe, std::vector<double> brakes)
    : optimizers_(std::make_unique<Optimizers>()),
      buffers_(module.buffers()),
      brakes_(std::move(brakes)),
      braked_(!brakes_.empty() || recipe.control.kind != "none"),
      clip_(recipe.train.clip),
      plain_(recipe.train.accumulate == 1 && recipe.train.clip == 0) {
  const auto& r = recipe.optimizer;
  if (r.name == "prox_sgd") {
    optimizers_->any = std::make_unique<ProxSGD>(module, ProxSGDOptions(r.lr).momentum(r.momentum).l1(r.l1));
  } else if (r.name == "adamw" && !braked_) {
    optimizers_->any = std::make_unique<AdamW>(module, adamw_options(r));
  } else {
    auto s_adam = std::make_unique<SAdam>(module, braked_ ? braked_adamw_options(r) : s_adam_options(recipe));
    optimizers_->s_adam = s_adam.get();
    optimizers_->any = std::move(s_adam);
  }
}

Stepper::~Stepper() = default;

Optimizer& Stepper::optimizer() { return *optimizers_->any; }

void Stepper::set_lr(double lr) {
  for (auto& group : optimizers_->any->param_groups()) group.options().set_lr(lr);
}

std::optional<double> Stepper::next_brake() {
  if (!braked_) return std::nullopt;
  if (!braked_steps_) {
    const auto& totals = optimizers_->any->totals();
    braked_steps_ = static_cast<std::size_t>(totals.steps + totals.skipped);
  }
  return brakes_.at((*braked_steps_)++ % brakes_.size());
}

StepSummary Stepper::step(const std::vector<StepPart>& parts, double lr) {
  set_lr(lr);
  if (parts.size() > 1 || clip_ > 0 || braked_) return split_step(parts);
  optimizers_->any->step([&] { return scaled(parts.front()); });
  return optimizers_->any->summary();
}

StepSummary Stepper::split_step(const std::vector<StepPart>& parts) {
  auto& optimizer = *optimizers_->any;
  auto* const s_adam = optimizers_->s_adam;
  const bool probes = s_adam != nullptr && !braked_;
  if (probes) s_adam->begin();
  const probe::ForwardState before(buffers_);
  optimizer.zero_grad();
  at::Tensor loss;
  for (const auto& part : parts) {
    const auto one = scaled(part);
    one.backward();
    loss = loss.defined() ? loss + one.detach() : one.detach();
  }
  const bool is_finite = std::isfinite(loss.item<double>());
  if (!is_finite) {  // as in step(closure): skipped, counted, and said
    before.restore_buffers();
    spoil_gradients(optimizer);
  }
  Brakes brakes;
  if (probes && is_finite) {
    const auto whole_loss = [&] {
      at::Tensor sum;
      for (const auto& part : parts) sum = sum.defined() ? sum + scaled(part) : scaled(part);
      return sum;
    };
    brakes =
        s_adam->probe(whole_loss, loss);  // before clipping: the residual compares with the whole gradient
  }
  if (clip_ > 0 && is_finite) {
    std::vector<at::Tensor> parameters;
    for (const auto& group : optimizer.param_groups())
      parameters.insert(parameters.end(), group.params().begin(), group.params().end());
    torch::nn::utils::clip_grad_norm_(parameters, clip_);
  }
  if (probes && !is_finite) {
    s_adam->step(1.0);
  } else if (probes) {
    s_adam->step(brakes);
  } else if (braked_) {
    const auto taken = static_cast<std::size_t>(optimizer.totals().steps + optimizer.totals().skipped);
    s_adam->step(brakes_.at(taken % brakes_.size()));
  } else {
    optimizer.step(nullptr);
  }
  auto summary = optimizer.summary();
  summary.loss = loss.item<double>();
  if (!is_finite) summary.non_finite_loss = 1;
  return summary;
}

void Stepper::save(torch::serialize::OutputArchive& archive) const {
  optimizers_->any->save(archive);
  if (braked_) archive.write("brakes", c10::IValue(brakes_));
}

void Stepper::load(torch::serialize::InputArchive& archive) {
  optimizers_->any->load(archive);
  braked_steps_.reset();
  c10::IValue brakes;
  if (braked_ && archive.try_read("brakes", brakes)) brakes_ = brakes.toDoubleVector();
  if (braked_ && brakes_.empty())
    throw Error("the checkpoint has no brakes and is of another run: start this one anew.");
}

}  // namespace sadam::train
