#include <sadam/s_adam_options.h>

#include "optim/rules.h"
#include "step/archive.h"
#include "step/options.h"

namespace sadam {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

SAdamOptions::SAdamOptions(double lr) : lr_(lr) {}

SAdamOptions SAdamOptions::paper(double lr) {
  SAdamOptions options(lr);
  options.bias_correction(BiasCorrection::none);
  return options;
}

SAdamOptions SAdamOptions::reference(double lr) {
  SAdamOptions options(lr);
  options.bias_correction(BiasCorrection::reference)
      .directions(Directions::per_tensor)
      .statistic(Statistic::unbiased_variance)
      .noise(ProbeNoise::fresh)
      .group_by_group(true);
  return options;
}

namespace {

template <class T>
bool differs(const OptimizerWide<T>& mine, const OptimizerWide<T>& whole) {
  return mine.set && !(mine.value == whole.value);
}

}  // namespace

void SAdamOptions::serialize(InputArchive& archive) {
  kernels::GroupRule rule;
  step::ProbePlan plan;
  step::visit_s_adam(rule, step::FieldReader{archive});
  step::visit_plan(plan, step::FieldReader{archive});
  lr(rule.adam.lr).betas({rule.adam.beta1, rule.adam.beta2}).eps(rule.adam.eps);
  weight_decay(rule.adam.weight_decay).damping(rule.damping).brake(rule.brake);
  bias_correction(rule.adam.bias_correction).damp_weight_decay(rule.adam.damp_weight_decay);
  probes(plan.probes).radius(plan.radius).directions(plan.directions).statistic(plan.statistic);
  noise(plan.noise).lgi_eps(plan.lgi_eps).cap(plan.cap).interval(plan.interval).seed(plan.seed);
  group_by_group(plan.group_by_group).monitor(plan.monitor);
}

void SAdamOptions::serialize(OutputArchive& archive) const {
  const auto rule = optim::rule_of(*this);
  const auto plan = optim::plan_of(*this);
  step::visit_s_adam(rule, step::FieldWriter{archive});
  step::visit_plan(plan, step::FieldWriter{archive});
}

bool operator==(const SAdamOptions& a, const SAdamOptions& b) {
  return a.lr() == b.lr() && a.betas() == b.betas() && a.eps() == b.eps() &&
         a.weight_decay() == b.weight_decay() && a.damping() == b.damping() && a.brake() == b.brake() &&
         a.bias_correction() == b.bias_correction() && a.damp_weight_decay() == b.damp_weight_decay() &&
         a.amsgrad() == b.amsgrad() && a.probes() == b.probes() && a.radius() == b.radius() &&
         a.directions() == b.directions() && !a.source() == !b.source() && a.statistic() == b.statistic() &&
         a.noise() == b.noise() && a.lgi_eps() == b.lgi_eps() && a.cap() == b.cap() &&
         a.interval() == b.interval() && a.seed() == b.seed() && a.group_by_group() == b.group_by_group() &&
         a.monitor() == b.monitor();
}

SAdamOptions& SAdamOptions::source(DirectionSource new_source) {
  source_ = {std::make_shared<const DirectionSource>(std::move(new_source)), true};
  return *this;
}

double SAdamOptions::get_lr() const { return lr(); }
void SAdamOptions::set_lr(const double new_lr) { lr(new_lr); }

std::string SAdamOptions::conflict_with(const SAdamOptions& whole) const {
  if (differs(probes_, whole.probes_)) return "probes";
  if (differs(radius_, whole.radius_)) return "radius";
  if (differs(directions_, whole.directions_)) return "directions";
  if (differs(source_, whole.source_)) return "source";
  if (differs(statistic_, whole.statistic_)) return "statistic";
  if (differs(noise_, whole.noise_)) return "noise";
  if (differs(lgi_eps_, whole.lgi_eps_)) return "lgi_eps";
  if (differs(cap_, whole.cap_)) return "cap";
  if (differs(interval_, whole.interval_)) return "interval";
  if (differs(seed_, whole.seed_)) return "seed";
  if (differs(group_by_group_, whole.group_by_group_)) return "group_by_group";
  if (differs(monitor_, whole.monitor_)) return "monitor";
  return "";
}

void SAdamOptions::inherit_from(const SAdamOptions& whole) {
  probes_ = {whole.probes_.value, false};
  radius_ = {whole.radius_.value, false};
  directions_ = {whole.directions_.value, false};
  source_ = {whole.source_.value, false};
  statistic_ = {whole.statistic_.value, false};
  noise_ = {whole.noise_.value, false};
  lgi_eps_ = {whole.lgi_eps_.value, false};
  cap_ = {whole.cap_.value, false};
  interval_ = {whole.interval_.value, false};
  seed_ = {whole.seed_.value, false};
  group_by_group_ = {whole.group_by_group_.value, false};
  monitor_ = {whole.monitor_.value, false};
}

}  // namespace sadam
