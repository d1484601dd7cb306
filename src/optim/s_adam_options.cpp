#include <sadam/s_adam_options.h>

#include "../probe/option_names.h"
#include "archive.h"

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

template <class Enum, std::size_t N>
Enum read_enum(InputArchive& archive, const Names<Enum, N>& names, const std::string& key) {
  return value_in(names, optim::read_value(archive, key).toStringRef(), key);
}

template <class T>
bool differs(const OptimizerWide<T>& mine, const OptimizerWide<T>& whole) {
  return mine.set && !(mine.value == whole.value);
}

}  // namespace

void SAdamOptions::serialize(InputArchive& archive) {
  const auto number = [&](const char* key) { return optim::read_value(archive, key).toDouble(); };
  const auto integer = [&](const char* key) { return optim::read_value(archive, key).toInt(); };
  const auto flag = [&](const char* key) { return optim::read_value(archive, key).toBool(); };
  lr(number("lr"));
  betas({number("beta1"), number("beta2")});
  eps(number("eps"));
  weight_decay(number("weight_decay"));
  damping(number("damping"));
  brake(read_enum(archive, kBrakeNames, "brake"));
  bias_correction(read_enum(archive, kBiasCorrectionNames, "bias_correction"));
  damp_weight_decay(flag("damp_weight_decay"));
  probes(integer("probes"));
  radius(number("radius"));
  directions(read_enum(archive, kDirectionsNames, "directions"));
  statistic(read_enum(archive, kStatisticNames, "statistic"));
  noise(read_enum(archive, kProbeNoiseNames, "noise"));
  lgi_eps(number("lgi_eps"));
  cap(number("cap"));
  interval(integer("interval"));
  seed(static_cast<std::uint64_t>(integer("seed")));
  group_by_group(flag("group_by_group"));
  monitor(flag("monitor"));
}

void SAdamOptions::serialize(OutputArchive& archive) const {
  const auto write = [&](const char* key, const c10::IValue& value) { archive.write(key, value); };
  write("lr", lr());
  write("beta1", std::get<0>(betas()));
  write("beta2", std::get<1>(betas()));
  write("eps", eps());
  write("weight_decay", weight_decay());
  write("damping", damping());
  write("brake", to_string(brake()));
  write("bias_correction", to_string(bias_correction()));
  write("damp_weight_decay", damp_weight_decay());
  write("probes", probes());
  write("radius", radius());
  write("directions", to_string(directions()));
  write("statistic", to_string(statistic()));
  write("noise", to_string(noise()));
  write("lgi_eps", lgi_eps());
  write("cap", cap());
  write("interval", interval());
  write("seed", static_cast<std::int64_t>(seed()));
  write("group_by_group", group_by_group());
  write("monitor", monitor());
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

std::string to_string(BiasCorrection correction) { return name_in(kBiasCorrectionNames, correction); }

}  // namespace sadam
