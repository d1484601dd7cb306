// What the options of all optimizers have in common.
#pragma once

#include <sadam/choices.h>
#include <sadam/option_list.h>
#include <torch/arg.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <tuple>
#include <utility>

namespace sadam {

/// Files, comparison and what torch's schedulers call, all from the lists of options.
template <class Options>
struct OptionsBase : public torch::optim::OptimizerCloneableOptions<Options> {
  /// Reads from and writes to an archive; called by the optimizer's `load` and `save`. An option that an
  /// older archive lacks has its default.
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  /// What torch's schedulers call.
  double get_lr() const override { return static_cast<const Options&>(*this).lr(); }
  // NOLINTNEXTLINE(readability-avoid-const-params-in-decls): torch's own signature
  void set_lr(const double lr) override { static_cast<Options&>(*this).lr(lr); }
  /// Equal in every option; of two direction sources, that both or neither are set.
  friend bool operator==(const Options& a, const Options& b) { return a.is_same(b); }

 private:
  bool is_same(const Options& other) const;
};

/// The same for AdamW and S-Adam, with what torch's AdamW has beside its single options.
template <class Options>
struct AdamOptionsBase : public OptionsBase<Options> {
  typedef std::tuple<double, double> betas_t;
  /// β1 and β2 together.
  Options& betas(const betas_t& both) {
    return static_cast<Options&>(*this).beta1(std::get<0>(both)).beta2(std::get<1>(both));
  }
  const betas_t betas() const {  // const, so that nobody assigns to it in vain
    const auto& options = static_cast<const Options&>(*this);
    return {options.beta1(), options.beta2()};
  }
  /// Not supported: `true` is refused with a sentence.
  Options& amsgrad(bool wanted) {
    amsgrad_ = wanted;
    return static_cast<Options&>(*this);
  }
  bool amsgrad() const { return amsgrad_; }

 private:
  bool amsgrad_ = false;
};

/// An option that belongs to the whole optimizer, because one evaluation serves all groups. It remembers
/// whether it was set, so that the options of a group may leave it alone; a group that sets another value is
/// refused.
template <class T>
struct OptimizerWide {
  T value;
  bool set = false;
};

// The setter, the getter and the value of an option, as torch has them.
#define SADAM_SETTER(type, name, usual, ...) TORCH_ARG(type, name) = usual;
// The same for one that belongs to the whole optimizer.
#define SADAM_WIDE_SETTER(type, name, usual, ...)    \
 public:                                             \
  auto& name(type new_value) {                       \
    name##_ = {std::move(new_value), true};          \
    return *this;                                    \
  }                                                  \
  const type& name() const { return name##_.value; } \
                                                     \
 private:                                            \
  OptimizerWide<type> name##_{usual};
// Shows one of `options` to `visit`.
#define SADAM_VISIT(type, name, usual, range, meaning) \
  visit(OptionInfo{#name, range, meaning}, options.name##_);

}  // namespace sadam
