#include "optim/options.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "step/archive.h"

namespace sadam {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

// ---- of all optimizers ------------------------------------------------------------------------------------

template <class Options>
void OptionsBase<Options>::serialize(InputArchive& archive) {
  Options read;
  Options::visit_options(read, [&](const OptionInfo& option, auto& value) {
    if constexpr (requires { value.set; }) {
      step::read_option(archive, option.name, value.value);
      value.set = true;
    } else {
      step::read_option(archive, option.name, value);
    }
  });
  auto& self = static_cast<Options&>(*this);
  if constexpr (std::is_same_v<Options, SAdamOptions>) read.source_ = self.source_;  // a file cannot hold it
  self = std::move(read);
}

template <class Options>
void OptionsBase<Options>::serialize(OutputArchive& archive) const {
  Options::visit_options(static_cast<const Options&>(*this),
                         [&](const OptionInfo& option, const auto& value) {
                           step::write_option(archive, option.name, optim::plain(value));
                         });
}

namespace {

struct Values {
  std::vector<double> numbers;
  std::vector<std::uint64_t> others;  // integers, choices, yes and no

  bool operator==(const Values&) const = default;
};

template <class Options>
Values values_of(const Options& options) {
  Values values;
  Options::visit_options(options, [&](const OptionInfo&, const auto& of_option) {
    const auto& value = optim::plain(of_option);
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(value)>>)
      values.numbers.push_back(value);
    else
      values.others.push_back(static_cast<std::uint64_t>(value));
  });
  if constexpr (requires { options.amsgrad(); }) values.others.push_back(options.amsgrad());
  if constexpr (requires { options.source(); }) values.others.push_back(static_cast<bool>(options.source()));
  return values;
}

}  // namespace

template <class Options>
bool OptionsBase<Options>::is_same(const Options& other) const {
  return values_of(static_cast<const Options&>(*this)) == values_of(other);
}

template struct OptionsBase<AdamWOptions>;
template struct OptionsBase<SAdamOptions>;
template struct OptionsBase<ProxSGDOptions>;

std::string optim::fault_of(double value, const OptionRange& range, bool is_integer) {
  const bool bounded = std::isfinite(range.high);
  const bool high_enough = range.with_low ? value >= range.low : value > range.low;
  const bool low_enough = range.with_high ? value <= range.high : value < range.high;
  const bool finite = std::isfinite(value) || (range.infinite && value > 0);
  if (high_enough && low_enough && finite) return "";
  std::ostringstream allowed;
  if (bounded && range.with_low && range.with_high) {
    allowed << "between " << range.low << " and " << range.high;
  } else {
    const bool must_be_finite = !bounded && !is_integer && !range.infinite;
    if (must_be_finite) allowed << "a finite number " << (range.with_low ? "that is " : "");
    allowed << (range.with_low ? "at least " : "above ") << range.low;
    if (bounded) allowed << " and below " << range.high;
  }
  return allowed.str();
}

// ---- of S-Adam --------------------------------------------------------------------------------------------

void optim::check_against(const SAdamOptions& options, const SAdamOptions& whole, const std::string& where) {
  const auto conflict = options.conflict_with(whole);
  if (!conflict.empty())
    throw Error(where + conflict +
                " belongs to the optimizer, since one probe serves all groups: set it in the options given "
                "to SAdam.");
  if (&options == &whole && !whole.source() && !go_together(whole.directions(), whole.statistic()))
    throw Error("directions 'step' goes with the statistic 'residual' only: set the statistic to it.");
  if (options.brake() == Brake::held && (whole.directions() != Directions::step || whole.source()))
    throw Error(
        where +
        "the brake 'held' steers by a probe along the step: set directions to 'step' and the statistic "
        "to 'residual'.");
}

#define SADAM_SET(name, value) options.name(value);

SAdamOptions SAdamOptions::paper(double lr) {
  SAdamOptions options(lr);
  SADAM_PAPER_PRESET(SADAM_SET)
  return options;
}

SAdamOptions SAdamOptions::reference(double lr) {
  SAdamOptions options(lr);
  SADAM_REFERENCE_PRESET(SADAM_SET)
  return options;
}

#undef SADAM_SET

SAdamOptions& SAdamOptions::source(DirectionSource new_source) {
  source_ = {std::make_shared<const DirectionSource>(std::move(new_source)), true};
  return *this;
}

std::string SAdamOptions::conflict_with(const SAdamOptions& whole) const {
  const bool other_source = source_.set && source_.value != whole.source_.value;
  const auto first = optim::conflict_between(*this, whole);
  return first.empty() && other_source ? "source" : first;
}

void SAdamOptions::inherit_from(const SAdamOptions& whole) {
  optim::inherit<SAdamOptions>(*this, whole);
  source_ = {whole.source_.value, false};
}

}  // namespace sadam
