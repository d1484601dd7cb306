#include "../access.h"
#include "../adam_update.h"
#include "device_optimizer.h"

namespace sadam::optim::cuda {
namespace {

kernels::cuda::GroupRule rule_of_group(const StepKind& kind, const torch::optim::OptimizerOptions& given) {
  kernels::cuda::GroupRule rule;
  if (kind.prox_sgd) {
    const auto& options = static_cast<const ProxSGDOptions&>(given);
    rule.adam.lr = options.lr();
    rule.momentum = options.momentum();
    rule.l1 = options.l1();
  } else if (kind.s_adam != nullptr) {
    const auto& options = static_cast<const SAdamOptions&>(given);
    rule.adam = optim::rule_of(options, 1);
    rule.damping = options.damping();
    rule.brake = options.brake();
  } else {
    rule.adam = optim::rule_of(static_cast<const AdamWOptions&>(given));
  }
  return rule;
}

}  // namespace

StepKind kind_of(const Optimizer& optimizer) {
  return {dynamic_cast<const SAdam*>(&optimizer), dynamic_cast<const ProxSGD*>(&optimizer) != nullptr};
}

std::vector<kernels::cuda::GroupRule> rules_of(const Optimizer& optimizer,
                                               const std::vector<double>& brakes) {
  const auto kind = kind_of(optimizer);
  std::vector<kernels::cuda::GroupRule> rules;
  for (const auto& group : optimizer.param_groups()) {
    rules.push_back(rule_of_group(kind, group.options()));
    if (!brakes.empty()) rules.back().given_brake = brakes[rules.size() - 1];
  }
  return rules;
}

bool is_along_step(const SAdamOptions& whole) {
  return whole.directions() == Directions::step && !whole.source();
}

std::int64_t probes_of(const SAdamOptions& whole) { return is_along_step(whole) ? 1 : whole.probes(); }

DirectionRule directions_of(const SAdamOptions& whole, std::int64_t step) {
  return {whole.directions(), whole.source(), whole.seed(), whole.radius(), step};
}

kernels::cuda::FinishProbes judgement_of(const SAdamOptions& whole) {
  kernels::cuda::FinishProbes launch;
  launch.along_step = is_along_step(whole);
  launch.distance = launch.along_step ? 1 : whole.radius();
  launch.statistic = whole.statistic();
  launch.lgi_eps = whole.lgi_eps();
  launch.cap = whole.cap();
  return launch;
}

GroupRange all_groups(const Optimizer& optimizer) {
  return {0, static_cast<std::int64_t>(optimizer.param_groups().size())};
}

std::vector<GroupRange> rounds_of(const Optimizer& optimizer, const StepKind& kind) {
  const auto all = all_groups(optimizer);
  if (kind.s_adam == nullptr || !Access::wide(*kind.s_adam).group_by_group()) return {all};
  std::vector<GroupRange> rounds;
  for (auto g = all.first; g < all.end; ++g) rounds.push_back({g, g + 1});
  return rounds;
}

}  // namespace sadam::optim::cuda
