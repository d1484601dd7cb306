// The options of S-Adam. <sadam/option_list.h> has each with its default and what it may be,
// <sadam/choices.h> the named forms; docs/options.md says when not to use them.
#pragma once

#include <sadam/directions.h>
#include <sadam/options_base.h>

#include <memory>
#include <string>
#include <utility>

namespace sadam {

/// Options of `SAdam`. Defaults: the paper's hyperparameters with AdamW's bias correction, so that without a
/// brake (λ = 0, or k = 1 with a variance statistic) it is AdamW, bit for bit.
struct SAdamOptions : public AdamOptionsBase<SAdamOptions> {
  /// From the learning rate, as torch's options.
  /* implicit */ SAdamOptions(double lr = kAdamLearningRate) : lr_(lr) {}

  /// The paper's Algorithm 1: no bias correction, everything else as by default.
  static SAdamOptions paper(double lr = kAdamLearningRate);
  /// The authors' published code: a unit vector per tensor, variance with 1/(k−1), fresh masks, its own bias
  /// correction, groups probed and updated one by one.
  static SAdamOptions reference(double lr = kAdamLearningRate);

  // A group may have its own.
  SADAM_LEARNING_RATE(SADAM_SETTER, kAdamLearningRate)
  SADAM_ADAM_OPTIONS(SADAM_SETTER)
  SADAM_BRAKE_OPTIONS(SADAM_SETTER)

  // Of the optimizer.
  SADAM_PROBE_OPTIONS(SADAM_WIDE_SETTER)
  SADAM_SEED_OPTION(SADAM_WIDE_SETTER)

 public:
  /// A caller's own directions; overrides `directions` when set. Not saved: set it again before loading.
  SAdamOptions& source(DirectionSource new_source);
  const DirectionSource& source() const { return *source_.value; }

  static const char* optimizer_name() { return "SAdam"; }
  /// Calls visit(OptionInfo, value) for each option but the source; the value of one that belongs to the
  /// optimizer is an OptimizerWide.
  template <class Self, class Visit>
  static void visit_options(Self& options, const Visit& visit){
      // clang-format off
    SADAM_LEARNING_RATE(SADAM_VISIT, kAdamLearningRate)
    SADAM_ADAM_OPTIONS(SADAM_VISIT)
    SADAM_BRAKE_OPTIONS(SADAM_VISIT)
    SADAM_PROBE_OPTIONS(SADAM_VISIT)
    SADAM_SEED_OPTION(SADAM_VISIT)
      // clang-format on
  }

  /// The name of an optimizer-wide option that was set here to another value than in `whole`, or "" if there
  /// is none.
  std::string conflict_with(const SAdamOptions& whole) const;
  /// Takes over the optimizer-wide options of `whole` as not set.
  void inherit_from(const SAdamOptions& whole);

 private:
  friend struct OptionsBase<SAdamOptions>;
  // Shared, so that copies of the options are known to hold the same source: functions cannot be compared.
  OptimizerWide<std::shared_ptr<const DirectionSource>> source_{std::make_shared<const DirectionSource>()};
};

extern template struct OptionsBase<SAdamOptions>;

}  // namespace sadam
