// torch's AdamW makes about ten passes over memory for each tensor; the fused one makes one, and one over the
// gradients beforehand to see whether they are finite.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/zeros_like.h>
#include <sadam/adamw.h>
#include <torch/optim/adamw.h>

#include "kernels/kernels.h"
#include "tables.h"
#include "workload.h"

namespace sadam::bench {
namespace {

constexpr double kLearningRate = 1e-5;

// The kernel without the optimizer around it, on moments of its own.
class BareUpdate {
 public:
  BareUpdate(const std::vector<at::Tensor>& parameters, int threads) {
    launch_.place.threads = threads;
    coefficients_.step_size = kLearningRate;
    coefficients_.decay = 1 - kLearningRate * 0.01;
    for (const auto& w : parameters) {
      moments_.push_back(at::zeros_like(w.detach()));
      moments_.push_back(at::zeros_like(w.detach()));
      launch_.segments.push_back({w.data_ptr<float>(), moments_.end()[-2].data_ptr<float>(),
                                  moments_.end()[-1].data_ptr<float>(), w.grad().data_ptr<float>(), w.numel(),
                                  &coefficients_});
    }
  }
  BareUpdate(const BareUpdate&) = delete;
  BareUpdate& operator=(const BareUpdate&) = delete;
  void run() const { kernels::cpu_kernels().of_float.adam_update(launch_); }

 private:
  std::vector<at::Tensor> moments_;
  kernels::AdamCoefficients coefficients_;  // the launch points to it
  kernels::AdamUpdate<float> launch_;
};

void add_row(Report& report, const Settings& settings, const Scale& scale,
             const std::vector<at::Tensor>& parameters) {
  for (auto w : parameters) w.mutable_grad() = at::randn_like(w.detach()).mul_(1e-3);
  AdamW ours(parameters, AdamWOptions(kLearningRate));
  torch::optim::AdamW theirs(parameters, torch::optim::AdamWOptions(kLearningRate));
  const BareUpdate kernel(parameters, settings.threads);
  PlainCopy copy(count_of(parameters), settings.threads);

  const auto times = time_in_turns({{"ours", [&] { ours.step(); }},
                                    {"kernel", [&] { kernel.run(); }},
                                    {"torch", [&] { theirs.step(); }},
                                    {"memcpy", [&] { copy.run(); }}},
                                   scale.rounds, scale.calls);

  for (const std::string what : {"ours", "kernel"}) {
    const auto speedup = ratio(times.at("torch"), times.at(what));
    const auto copies = ratio(times.at(what), times.at("memcpy"));
    const bool has_budget = scale.width == 64;
    const bool is_kernel = what == "kernel";
    report.row({millions(static_cast<double>(count_of(parameters))), std::to_string(parameters.size()),
                is_kernel ? "kernel alone" : "AdamW::step", milliseconds(times.at(what)),
                milliseconds(times.at("torch")), milliseconds(times.at("memcpy")), with_quartiles(speedup, 1),
                report.verdict(speedup.median, has_budget ? std::optional(at_least(5)) : std::nullopt),
                with_quartiles(copies, 2),
                report.verdict(copies.median, has_budget ? std::optional(at_most(3.5)) : std::nullopt)});
  }
}

}  // namespace

void update_table(Report& report, const Settings& settings) {
  report.begin("Fused update", {"parameters", "tensors", "what", "ms", "torch AdamW ms", "memcpy ms",
                                "faster than torch, times", "budget", "in copies", "budget"});
  for (const auto& scale : scales(settings.quick)) {
    add_row(report, settings, scale, resnet18_parameters(scale.width));
    add_row(report, settings, scale, one_parameter(scale.width));
  }
  report.end();
}

}  // namespace sadam::bench
