// Options between the user who sets them and the step that follows them: checks, rules, plan.
#pragma once

#include <sadam/adamw.h>
#include <sadam/error.h>
#include <sadam/prox_sgd.h>
#include <sadam/s_adam_options.h>

#include <cmath>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "step/option_names.h"
#include "step/problem.h"

namespace sadam::optim {

template <class T>
const T& plain(const T& value) {
  return value;
}
template <class T>
const T& plain(const OptimizerWide<T>& option) {
  return option.value;
}

template <class T>
[[noreturn]] void refuse_value(const std::string& where, const char* option, const T& given,
                               const std::string& allowed) {
  std::ostringstream sentence;
  sentence << where << option << " is " << given << ": it must be " << allowed << ".";
  throw Error(sentence.str());
}

/// What a number must be, if it is not: "a finite number above 0"; else "".
std::string fault_of(double value, const OptionRange& range, bool is_integer);

/// Throws a sentence that names the option and what it may be.
template <class T>
void check_number(T value, const OptionInfo& option, const std::string& where) {
  const auto fault = fault_of(static_cast<double>(value), option.range, std::is_integral_v<T>);
  if (!fault.empty()) refuse_value(where, option.name, value, fault);
}

/// Every option is one that its list allows. `where` begins the sentence of a refusal.
template <class Options>
void check_values(const Options& options, const std::string& where) {
  Options::visit_options(options, [&](const OptionInfo& option, const auto& of_option) {
    const auto& value = plain(of_option);
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_enum_v<T>) {
      if (!is_known(value)) refuse_value(where, option.name, to_string(value), list_of_names<T>());
    } else if constexpr (!std::is_same_v<T, bool>) {
      check_number(value, option, where);
    }
  });
  if constexpr (requires { options.amsgrad(); })
    if (options.amsgrad()) throw Error(where + "amsgrad is not supported: leave it false.");
}

/// The options as those of the given optimizer.
template <class Options>
const Options& options_as(const torch::optim::OptimizerOptions& options, const std::string& where) {
  const auto* typed = dynamic_cast<const Options*>(&options);
  if (!typed)
    throw Error(where + "the options are those of another optimizer: give the group sadam::" +
                Options::optimizer_name() + "Options.");
  return *typed;
}

/// Calls visit(OptionInfo, option, the same option of `whole`) for each option that belongs to the optimizer.
template <class Options, class Whole, class Visit>
void visit_wide(Options& options, Whole& whole, const Visit& visit) {
  std::vector<const void*> of_whole;
  Options::visit_options(whole, [&](const OptionInfo&, const auto& value) { of_whole.push_back(&value); });
  std::size_t next = 0;
  Options::visit_options(options, [&](const OptionInfo& option, auto& value) {
    const auto* const other = of_whole[next++];
    if constexpr (requires { value.set; })
      visit(option, value, *static_cast<const std::decay_t<decltype(value)>*>(other));
  });
}

/// The name of an optimizer-wide option that was set here to another value than in `whole`, or "".
template <class Options>
std::string conflict_between(const Options& options, const Options& whole) {
  std::string first;
  visit_wide(options, whole, [&](const OptionInfo& option, const auto& mine, const auto& of_whole) {
    if (first.empty() && mine.set && !(mine.value == of_whole.value)) first = option.name;
  });
  return first;
}

/// Refuses what does not go together, within an optimizer's own options and between them and a group's.
template <class Options>
void check_against(const Options& options, const Options& whole, const std::string& where) {
  const auto conflict = conflict_between(options, whole);
  if (!conflict.empty())
    throw Error(where + conflict +
                " belongs to the optimizer, since one evaluation serves all groups: set it in the options "
                "given to " +
                Options::optimizer_name() + ".");
}
void check_against(const SAdamOptions& options, const SAdamOptions& whole, const std::string& where);

/// Lets the options of a group follow the optimizer's.
template <class Options>
void inherit(Options& options, const Options& whole) {
  visit_wide(options, whole, [](const OptionInfo&, auto& mine, const auto& of_whole) {
    mine = {of_whole.value, false};
  });
}
inline void inherit(SAdamOptions& options, const SAdamOptions& whole) { options.inherit_from(whole); }

inline void check_brake(double brake, const std::string& where) {
  check_number(brake, {"brake", kAtLeastZero, ""}, where);
}

#define SADAM_TAKE(type, name, ...) to.name = options.name();

inline kernels::GroupRule rule_of(const AdamWOptions& options) {
  kernels::GroupRule to;
  SADAM_LEARNING_RATE(SADAM_TAKE, 0)
  SADAM_ADAM_OPTIONS(SADAM_TAKE)
  SADAM_BOUND_OPTIONS(SADAM_TAKE)
  return to;
}

inline kernels::GroupRule rule_of(const SAdamOptions& options) {
  kernels::GroupRule to;
  SADAM_LEARNING_RATE(SADAM_TAKE, 0)
  SADAM_ADAM_OPTIONS(SADAM_TAKE)
  SADAM_BRAKE_OPTIONS(SADAM_TAKE)
  return to;
}

inline kernels::GroupRule rule_of(const ProxSGDOptions& options) {
  kernels::GroupRule to;
  SADAM_LEARNING_RATE(SADAM_TAKE, 0)
  SADAM_PROX_OPTIONS(SADAM_TAKE)
  return to;
}

/// What a problem takes from the optimizer's own options.
template <class Options>
void describe(const Options& options, step::Problem& problem) {
  if constexpr (std::is_same_v<Options, ProxSGDOptions>) problem.update = step::Update::prox_sgd;
  auto& to = problem.gradient;
  SADAM_GRADIENT_OPTIONS(SADAM_TAKE)
  SADAM_SEED_OPTION(SADAM_TAKE)
}
inline void describe(const SAdamOptions& options, step::Problem& problem) {
  auto& to = problem.plan.emplace();
  SADAM_PROBE_OPTIONS(SADAM_TAKE)
  SADAM_SEED_OPTION(SADAM_TAKE)
  to.source = options.source();
}

#undef SADAM_TAKE

}  // namespace sadam::optim
