// Every option of every list: it is compared, saved, checked, and reaches the step.
#include "optim/options.h"

#include <gtest/gtest.h>
#include <torch/serialize.h>

#include <map>
#include <sstream>

#include "support/models.h"

namespace sadam {
namespace {

template <class T>
void change(T& value) {
  if constexpr (std::is_enum_v<T>)
    value = static_cast<T>(static_cast<int>(value) + 1);
  else if constexpr (std::is_same_v<T, bool>)
    value = !value;
  else if constexpr (std::is_floating_point_v<T>)
    value = value / 2 + 0.01;
  else
    value += 3;
}
template <class T>
void change(OptimizerWide<T>& option) {
  change(option.value);
}

template <class Options>
std::vector<std::string> names_of_options() {
  std::vector<std::string> names;
  Options options;
  Options::visit_options(options, [&](const OptionInfo& option, auto&) { names.emplace_back(option.name); });
  return names;
}

template <class Options>
Options with_changed(const std::string& name) {
  Options options;
  Options::visit_options(options, [&](const OptionInfo& option, auto& value) {
    if (name == option.name) change(value);
  });
  return options;
}

// Numbers by name, whatever their type.
using Values = std::map<std::string, double>;
template <class Options>
Values values_in_step(const Options& options) {
  Values values;
#define SADAM_COLLECT(type, name, ...) values[#name] = static_cast<double>(from.name);
  {
    const auto from = optim::rule_of(options);
    SADAM_LEARNING_RATE(SADAM_COLLECT, 0)
    SADAM_ADAM_OPTIONS(SADAM_COLLECT)
    SADAM_BRAKE_OPTIONS(SADAM_COLLECT)
    SADAM_PROX_OPTIONS(SADAM_COLLECT)
    SADAM_BOUND_OPTIONS(SADAM_COLLECT)
  }
  step::Problem problem;
  optim::describe(options, problem);
  {
    const auto& from = problem.gradient;
    SADAM_GRADIENT_OPTIONS(SADAM_COLLECT)
    SADAM_SEED_OPTION(SADAM_COLLECT)
  }
  if (problem.plan) {
    const auto& from = *problem.plan;
    SADAM_PROBE_OPTIONS(SADAM_COLLECT)
    SADAM_SEED_OPTION(SADAM_COLLECT)
  }
#undef SADAM_COLLECT
  return values;
}

template <class Options>
class EveryOption : public ::testing::Test {};
using AllOptions = ::testing::Types<SAdamOptions, AdamWOptions, ProxSGDOptions>;
TYPED_TEST_SUITE(EveryOption, AllOptions);

TYPED_TEST(EveryOption, IsCompared) {
  for (const auto& name : names_of_options<TypeParam>()) {
    const auto changed = with_changed<TypeParam>(name);
    EXPECT_FALSE(changed == TypeParam()) << name;
    EXPECT_TRUE(changed == with_changed<TypeParam>(name)) << name;
  }
}

TYPED_TEST(EveryOption, SurvivesAFile) {
  for (const auto& name : names_of_options<TypeParam>()) {
    const auto changed = with_changed<TypeParam>(name);
    torch::serialize::OutputArchive out;
    changed.serialize(out);
    std::stringstream file;
    out.save_to(file);
    torch::serialize::InputArchive in;
    in.load_from(file);
    TypeParam read;
    read.serialize(in);
    EXPECT_TRUE(read == changed) << name;
  }
}

TYPED_TEST(EveryOption, ReachesTheStep) {
  const auto plain = values_in_step(TypeParam());
  for (const auto& name : names_of_options<TypeParam>()) {
    const auto changed = values_in_step(with_changed<TypeParam>(name));
    for (const auto& [option, value] : changed)
      EXPECT_EQ(option != name, value == plain.at(option)) << option;
  }
}

TYPED_TEST(EveryOption, ThatAnOlderFileLacksHasItsDefault) {
  torch::serialize::OutputArchive out;
  out.write("lr", c10::IValue(0.5));
  std::stringstream file;
  out.save_to(file);
  torch::serialize::InputArchive in;
  in.load_from(file);
  auto read = with_changed<TypeParam>(names_of_options<TypeParam>().back());
  read.serialize(in);
  EXPECT_TRUE(read == TypeParam(0.5));
}

TEST(Refusals, ShowIntegersWhole) {
  const auto refused = testing::refusal([] { SAdam({torch::ones({2})}, SAdamOptions().probes(1234567)); });
  EXPECT_NE(refused.find("probes is 1234567: it must be between 1 and 65535."), std::string::npos) << refused;
}

TEST(Choices, HaveNamesThatReadBack) {
  const auto check = [](auto value) {
    for (const auto& each : names_of(value)) {
      EXPECT_EQ(to_string(each.value), each.name);
      EXPECT_EQ(value_named<decltype(value)>(each.name, "it"), each.value);
      EXPECT_FALSE(each.meaning.empty());
    }
    const auto no_such = static_cast<decltype(value)>(99);
    EXPECT_FALSE(is_known(no_such));
    EXPECT_THROW(value_named<decltype(value)>("no_such", "it"), Error);
  };
  check(Directions::sphere);
  check(Statistic::variance);
  check(Brake::exponential);
  check(ProbeNoise::shared);
  check(BiasCorrection::adamw);
}

// A statistic that is not given what it reads would see nothing but its largest value.
TEST(Choices, EveryStatisticSeesANumber) {
  for (const auto& each : names_of(Statistic{})) {
    auto w = torch::tensor({1.0, -2.0, 0.5}, torch::kDouble).requires_grad_();
    SAdam optimizer({w}, SAdamOptions().probes(4).statistic(each.value));
    optimizer.step([&] { return (w * w).sum() + w.sum(); });
    EXPECT_TRUE(std::isfinite(optimizer.summary().lgi)) << each.name;
    EXPECT_NE(optimizer.summary().lgi, 1) << each.name;
  }
}

TEST(Choices, OfNoNameAreRefused) {
  EXPECT_THROW(lgi(static_cast<Statistic>(99), {1, 2}, {1, 2}, 0), Error);
  EXPECT_THROW(brake(static_cast<Brake>(99), 1, 1), Error);
  EXPECT_THROW(SAdam({torch::ones({2})}, SAdamOptions().brake(static_cast<Brake>(99))), Error);
}

}  // namespace
}  // namespace sadam
