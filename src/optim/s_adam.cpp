#include <sadam/s_adam.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "../probe/option_names.h"
#include "../probe/probe.h"
#include "adam_update.h"
#include "archive.h"
#include "before_step.h"
#include "checks.h"
#include "device_work.h"
#include "state.h"

namespace sadam {

using torch::optim::OptimizerParamGroup;

Brakes::operator double() const {
  if (per_group.empty()) return 1;
  if (std::any_of(per_group.begin(), per_group.end(), [&](double b) { return b != per_group.front(); }))
    throw Error("the groups have different brakes: pass what probe() returned to step() as it is.");
  return per_group.front();
}

// ---- construction -----------------------------------------------------------------------------------------

SAdam::SAdam(std::vector<OptimizerParamGroup> groups, const SAdamOptions& defaults)
    : Optimizer(std::move(groups), std::make_unique<SAdamOptions>(defaults)),
      snapshot_(std::make_unique<probe::Snapshot>()) {
  check_options(defaults, "");
  prepare();
}

SAdam::SAdam(std::vector<torch::Tensor> parameters, const SAdamOptions& defaults)
    : SAdam(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))}, defaults) {}

SAdam::SAdam(const torch::nn::Module& module, const SAdamOptions& defaults)
    : SAdam(groups_of(module), defaults) {
  adopt(module);
}

SAdam::SAdam(SAdam&&) noexcept = default;
SAdam::~SAdam() = default;

void SAdam::check_options(const torch::optim::OptimizerOptions& given, const std::string& where) const {
  const auto& options = optim::options_as<SAdamOptions>(given, where, "SAdamOptions");
  check_values(options, where);
  const auto conflict = options.conflict_with(wide());
  if (!conflict.empty())
    throw Error(where + conflict +
                " belongs to the optimizer, since one probe serves all groups: set it in the options given "
                "to SAdam.");
  if (&given == &defaults()) check_combination(options);
}

void SAdam::check_values(const SAdamOptions& options, const std::string& where) {
  optim::require_at_least_zero(options.lr(), where, "lr");
  optim::require_fraction(std::get<0>(options.betas()), where, "betas[0]");
  optim::require_fraction(std::get<1>(options.betas()), where, "betas[1]");
  optim::require_at_least_zero(options.eps(), where, "eps");
  optim::require_at_least_zero(options.weight_decay(), where, "weight_decay");
  optim::require_at_least_zero(options.damping(), where, "damping");
  optim::require(is_in(kBrakeNames, options.brake()), where, "brake", to_string(options.brake()),
                 "exponential or proximal");
  optim::require(is_in(kBiasCorrectionNames, options.bias_correction()), where, "bias_correction",
                 to_string(options.bias_correction()), "adamw, reference or none");
  optim::refuse_amsgrad(options.amsgrad(), where);
  optim::require(options.probes() >= 1 && options.probes() <= 65535, where, "probes", options.probes(),
                 "between 1 and 65535");
  optim::require(std::isfinite(options.radius()) && options.radius() > 0, where, "radius", options.radius(),
                 "a finite number above 0");
  optim::require_at_least_zero(options.lgi_eps(), where, "lgi_eps");
  optim::require(options.cap() > 0, where, "cap", options.cap(), "above 0");
  optim::require(options.interval() >= 1, where, "interval", options.interval(), "at least 1");
  optim::require(is_in(kDirectionsNames, options.directions()), where, "directions",
                 to_string(options.directions()), "sphere, per_tensor, rademacher or step");
  optim::require(is_in(kStatisticNames, options.statistic()), where, "statistic",
                 to_string(options.statistic()), "variance, unbiased_variance or residual");
  optim::require(is_in(kProbeNoiseNames, options.noise()), where, "noise", to_string(options.noise()),
                 "shared or fresh");
}

void SAdam::check_combination(const SAdamOptions& whole) {
  if (whole.directions() == Directions::step && !whole.source() && whole.statistic() != Statistic::residual)
    throw Error(
        "directions 'step' goes with the statistic 'residual' only: add "
        ".statistic(sadam::Statistic::residual).");
}

// Checks everything and lets the groups follow the optimizer's own options. Changes nothing a user could see.
void SAdam::prepare() {
  if (!defaults_) throw Error("this optimizer was moved from: use the one that it was moved to.");
  check_options(defaults(), "");
  if (device_work_ && !is_on_device()) last_lgi_ = latest_lgi();  // before check() lets go of it
  check();
  for (auto& group : param_groups()) static_cast<SAdamOptions&>(group.options()).inherit_from(wide());
  last_lgi_ = lgi_of_all_groups();
}

// A group that joined later starts from the common ρ.
std::vector<double> SAdam::lgi_of_all_groups() const {
  auto all = last_lgi_;
  all.resize(param_groups().size(), all.empty() || wide().group_by_group() ? 0 : all.back());
  return all;
}

// Waits for the GPU, if there is one that knows better.
std::vector<double> SAdam::latest_lgi() const {
  auto lgi = device_work_ ? device_work_->last_lgi() : std::vector<double>();
  return lgi.size() == param_groups().size() ? lgi : lgi_of_all_groups();
}

const SAdamOptions& SAdam::wide() const { return static_cast<const SAdamOptions&>(defaults()); }

const SAdamOptions& SAdam::options_of(std::size_t group) const {
  return static_cast<const SAdamOptions&>(param_groups()[group].options());
}

SAdam::Groups SAdam::all_groups() const { return {0, param_groups().size()}; }

// ---- the step ---------------------------------------------------------------------------------------------

torch::Tensor SAdam::step(LossClosure closure) {
  if (!closure)
    throw Error(
        "SAdam::step: there is no closure: pass one that returns the loss, or use probe() and step(brake) "
        "after your own "
        "backward.");
  prepare();
  if (is_on_device()) {
    begun_.reset();
    summary_is_open_ = false;
    return device_work().step(*this, closure, "SAdam::step");
  }
  optim::BeforeStep before(param_groups(), buffers_);
  auto loss = evaluate(closure, before, "SAdam::step");
  begun_.reset();
  summary_is_open_ = false;
  start_summary();
  summary_.group_lgi = last_lgi_;
  note_loss(probe::read_loss(loss).value);
  if (skips_step()) {
    before.forward().restore_buffers();
    return loss;
  }

  std::vector<Groups> rounds{all_groups()};
  if (wide().group_by_group()) {
    rounds.clear();
    for (std::size_t g = 0; g < param_groups().size(); ++g) rounds.push_back({g, g + 1});
  }
  const auto skip = [&] {
    skips_step();
    before.forward().restore_buffers();
    return loss;
  };
  // Where groups take turns, all are compared with f(w) as it was before the first update.
  std::optional<probe::Loss> exact;
  if (rounds.size() > 1 &&
      std::any_of(rounds.begin(), rounds.end(), [&](Groups g) { return probe_is_due(g); })) {
    try {
      exact = base_of({closure, loss, before.forward()});
    } catch (const Error&) {
      before.restore();
      throw;
    }
    if (!std::isfinite(exact->value)) {
      note_loss(exact->value);
      return skip();
    }
  }
  for (const auto& groups : rounds) {
    if (probe_is_due(groups)) {
      try {
        run_probes(groups, {closure, loss, before.forward(), exact ? &*exact : nullptr});
      } catch (const Error&) {
        if (groups.first == 0) before.restore();  // else an earlier group has been updated already
        throw;
      }
      // f(w) in full precision is not finite
      if (groups.first == 0 && summary_.non_finite_loss > 0) return skip();
    }
    set_brakes(groups);
    update(groups);
  }
  ++totals_.steps;
  return loss;
}

bool SAdam::probe_is_due(Groups groups) const {
  if ((totals_.steps + totals_.skipped) % wide().interval() != 0) return false;
  if (wide().monitor()) return true;
  for (auto g = groups.first; g < groups.last; ++g)
    if (options_of(g).damping() != 0) return true;
  return false;
}

// f(w) in the precision of the probes.
probe::Loss SAdam::base_of(const Base& base) {
  const auto start = std::chrono::steady_clock::now();
  const auto* const replay = wide().noise() == ProbeNoise::shared ? &base.before : nullptr;
  const auto found = probe::base_of(base.closure, probe::read_loss(base.loss), replay, buffers_);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  summary_.probe_seconds += taken.count();
  return found;
}

// Fills in the summary and ρ of the groups. If f(w) is not finite, that is noted and nothing was probed.
void SAdam::run_probes(Groups groups, const Base& base) {
  const auto start = std::chrono::steady_clock::now();
  probe::ProbePlan plan;
  std::uint64_t first = 0;
  for (std::size_t g = 0; g < groups.last; ++g) {
    const auto& parameters = param_groups()[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].requires_grad()) continue;
      if (g >= groups.first)
        plan.parameters.push_back(
            {parameters[i], static_cast<std::int64_t>(g), static_cast<std::int64_t>(i), first});
      first += static_cast<std::uint64_t>(parameters[i].numel());
    }
  }
  auto& directions = plan.directions;
  directions.directions = wide().directions();
  directions.source = wide().source();
  directions.seed = wide().seed();
  directions.step = totals_.steps;
  directions.radius = wide().radius();
  if (wide().statistic() == Statistic::residual) directions.gradients = probe::gradients_of(plan.parameters);
  if (wide().directions() == Directions::step && !wide().source()) {
    for (const auto& parameter : plan.parameters) {
      if (!parameter.tensor.grad().defined()) {
        directions.coming.emplace_back();
        continue;
      }
      auto& state = optim::state_of<AdamWParamState>(this->state(), parameter.tensor);
      optim::ensure_moment(state.exp_avg(), parameter.tensor);
      optim::ensure_moment(state.exp_avg_sq(), parameter.tensor);
      const auto rule = optim::rule_of(options_of(static_cast<std::size_t>(parameter.group)), 1);
      directions.coming.push_back(
          {state.exp_avg(), state.exp_avg_sq(), kernels::coefficients_at(rule, state.step() + 1)});
    }
  }
  plan.probes = wide().probes();
  plan.statistic = wide().statistic();
  plan.lgi_eps = wide().lgi_eps();
  plan.cap = wide().cap();
  plan.closure = base.closure;
  if (base.loss.defined()) plan.base = probe::read_loss(base.loss);
  plan.base_is_exact = base.exact != nullptr;
  if (base.exact != nullptr) plan.base = *base.exact;
  plan.replay = wide().noise() == ProbeNoise::shared ? &base.before : nullptr;
  plan.buffers = buffers_;

  auto outcome = is_on_device() ? device_work().probe(*this, base.closure, base.loss, base.before)
                                : probe::run(std::move(plan), *snapshot_);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  summary_.probe_seconds += taken.count();
  if (outcome.differences.empty()) return note_loss(outcome.base);
  if (!base.loss.defined()) note_loss(outcome.base);
  summary_.within_noise = outcome.within_noise && (summary_.within_noise || !summary_.probed);
  summary_.probed = true;
  summary_.differences.insert(summary_.differences.end(), outcome.differences.begin(),
                              outcome.differences.end());
  summary_.slopes.insert(summary_.slopes.end(), outcome.slopes.begin(), outcome.slopes.end());
  summary_.non_finite_probes += outcome.non_finite;
  totals_.non_finite_probes += outcome.non_finite;
  for (auto g = groups.first; g < groups.last; ++g) {
    summary_.group_lgi[g] = outcome.lgi;
    // A ρ that only says "not finite" is for this step alone, not for those until the next probe.
    if (outcome.non_finite == 0) last_lgi_[g] = outcome.lgi;
  }
}

void SAdam::set_brakes(Groups groups) {
  for (auto g = groups.first; g < groups.last; ++g) {
    summary_.group_brakes[g] =
        sadam::brake(options_of(g).brake(), options_of(g).damping(), summary_.group_lgi[g]);
    summary_.lgi = summary_.group_lgi[g];
    summary_.brake = summary_.group_brakes[g];
  }
}

void SAdam::update(Groups groups) {
  optim::AdamLaunch launch;
  for (auto g = groups.first; g < groups.last; ++g) {
    const auto rule = optim::rule_of(options_of(g), summary_.group_brakes[g]);
    for (auto& parameter : param_groups()[g].params())
      if (is_trained(parameter))
        launch.add(parameter, optim::state_of<AdamWParamState>(state(), parameter), rule);
  }
  launch.run();
}

}  // namespace sadam
