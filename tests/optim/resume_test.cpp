// Saving and loading: a resumed run equals an uninterrupted one, bit for bit.
#include <set>
#include <sstream>
#include <string>

#include "support/models.h"

namespace sadam {
namespace {

using namespace sadam::testing;

// Everything a run consists of.
template <class Optimizer, class Options>
struct Run {
  explicit Run(const Options& options) : optimizer((torch::manual_seed(3), *net), options) {}

  void train(int steps) {
    for (int step = 0; step < steps; ++step) optimizer.step([&] { return loss_of(net, batch); });
  }

  void save(std::ostream& weights, std::ostream& state, std::ostream& generator) {
    torch::save(net, weights);
    torch::save(optimizer, state);
    torch::save(generator_state(), generator);
  }

  void load(std::istream& weights, std::istream& state, std::istream& generator) {
    torch::load(net, weights);
    torch::load(optimizer, state);
    torch::Tensor numbers;
    torch::load(numbers, generator);
    auto default_generator = at::detail::getDefaultCPUGenerator();
    default_generator.set_state(numbers);
  }

  NoisyNet net = (torch::manual_seed(2), NoisyNet());
  Batch batch = (torch::manual_seed(4), Batch());
  Optimizer optimizer;
};

template <class Optimizer, class Options>
void expect_resumed_equals_uninterrupted(const Options& options, const Options& other_options) {
  std::stringstream weights;
  std::stringstream state;
  std::stringstream generator;
  Run<Optimizer, Options> uninterrupted(options);
  uninterrupted.train(7);
  uninterrupted.save(weights, state, generator);
  uninterrupted.train(6);
  const auto expected_generator = generator_state();

  torch::manual_seed(999);
  Run<Optimizer, Options> resumed(other_options);
  resumed.train(2);  // a life of its own, which loading must replace
  resumed.load(weights, state, generator);
  EXPECT_EQ(7, resumed.optimizer.totals().steps);
  resumed.train(6);
  expect_same_bits(uninterrupted.net->parameters(), resumed.net->parameters());
  expect_same_bits(uninterrupted.net->buffers(), resumed.net->buffers());
  expect_same_bits({expected_generator}, {generator_state()});
  EXPECT_EQ(uninterrupted.optimizer.summary().lgi, resumed.optimizer.summary().lgi);
}

TEST(Resume, SAdamEqualsTheUninterruptedRun) {
  const std::vector<SAdamOptions> all{
      SAdamOptions(0.02).seed(0xfedcba9876543210u).probes(3),
      SAdamOptions::paper(0.002),
      SAdamOptions::reference(0.02),
      SAdamOptions(0.02).interval(4),  // 7 is in the middle of an interval: the kept ρ must survive
      SAdamOptions(0.02).damp_weight_decay(true).brake(Brake::proximal).directions(Directions::rademacher),
      SAdamOptions(0.02).directions(Directions::step).statistic(Statistic::residual),
      SAdamOptions(0.02)  // the brake that is held must survive
          .directions(Directions::step)
          .statistic(Statistic::residual)
          .brake(Brake::held)
          .damping(0.3)
          .interval(2),
  };
  for (const auto& options : all)
    expect_resumed_equals_uninterrupted<SAdam>(options, SAdamOptions(0.5).seed(1));
}

void copy_without(const std::set<std::string>& left_out, torch::serialize::InputArchive& from,
                  torch::serialize::OutputArchive& to) {
  for (const auto& key : from.keys()) {
    if (left_out.contains(key)) continue;
    torch::serialize::InputArchive part;
    c10::IValue value;
    if (from.try_read(key, part)) {
      torch::serialize::OutputArchive copy;
      copy_without(left_out, part, copy);
      to.write(key, copy);
    } else {
      ASSERT_TRUE(from.try_read(key, value)) << key;
      to.write(key, value);
    }
  }
}

TEST(Resume, AStateFromBeforeThereWereHeldBrakesGoesOn) {
  auto w = torch::ones({3}).set_requires_grad(true);
  const auto loss = [&] { return w.abs().sum(); };
  SAdam saved({w}, SAdamOptions(0.1));
  saved.step(loss);
  std::stringstream file;
  torch::save(saved, file);
  torch::serialize::InputArchive now;
  now.load_from(file);
  torch::serialize::OutputArchive before;
  copy_without({"held_brakes", "brake", "target", "ceiling"}, now, before);
  std::stringstream old;
  before.save_to(old);

  SAdam resumed({w}, SAdamOptions(9));
  torch::load(resumed, old);
  EXPECT_EQ(resumed.totals().steps, 1);
  const auto weights = copies({w});
  saved.step(loss);
  const auto expected = copies({w});
  w.set_data(weights[0]);
  resumed.step(loss);
  expect_same_bits(expected, {w});
}

TEST(Resume, AdamWEqualsTheUninterruptedRun) {
  expect_resumed_equals_uninterrupted<AdamW>(AdamWOptions(0.02).betas({0.7, 0.9}).eps(1e-4).weight_decay(0.2),
                                             AdamWOptions());
}

TEST(Resume, ProxSGDEqualsTheUninterruptedRun) {
  expect_resumed_equals_uninterrupted<ProxSGD>(ProxSGDOptions(0.02).momentum(0.5).l1(0.01), ProxSGDOptions());
}

TEST(Resume, OptionsOfGroupsAndSchedulesAreCarried) {
  auto a = torch::ones({3}).set_requires_grad(true);
  auto b = torch::ones({3}).set_requires_grad(true);
  const auto groups = [&] {
    std::vector<torch::optim::OptimizerParamGroup> result;
    result.emplace_back(std::vector<torch::Tensor>{a});
    result.emplace_back(std::vector<torch::Tensor>{b});
    return result;
  };
  SAdam first(groups(), SAdamOptions(0.1).probes(5));
  first.param_groups()[1].options().set_lr(0.025);
  std::stringstream file;
  torch::save(first, file);
  SAdam second(groups(), SAdamOptions(9));
  torch::load(second, file);
  EXPECT_EQ(0.1, second.param_groups()[0].options().get_lr());
  EXPECT_EQ(0.025, second.param_groups()[1].options().get_lr());
  second.step([&] { return a.sum() + b.sum(); });
  EXPECT_EQ(5u, second.summary().differences.size());
}

TEST(Resume, ADirectionSourceIsAskedFor) {
  auto w = torch::ones({3}).set_requires_grad(true);
  const auto ones = [](const DirectionRequest&) { return torch::ones({3}); };
  SAdam first({w}, SAdamOptions(0.1).source(ones));
  std::stringstream file;
  torch::save(first, file);
  SAdam without({w});
  expect_refused([&] { torch::load(without, file); }, {"source"});
  file.clear();
  file.seekg(0);
  SAdam with({w}, SAdamOptions(0.1).source(ones));
  torch::load(with, file);
  with.step([&] { return w.sum(); });
  EXPECT_NEAR(3, with.summary().differences[0], 1e-4);
}

// A state that cannot be loaded, and the words its refusal must have. The optimizer is as it was.
template <class Write>
void expect_load_refused(Write&& write, const std::vector<std::string>& words) {
  auto w = torch::ones({3, 2}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.1).probes(3));
  optimizer.step([&] { return w.abs().sum(); });
  std::stringstream before;
  torch::save(optimizer, before);
  std::stringstream file;
  write(file);
  expect_refused([&] { torch::load(optimizer, file); }, words);
  auto v = w.detach().clone().set_requires_grad(true);
  SAdam untouched({v});
  torch::load(untouched, before);
  optimizer.step([&] { return w.abs().sum(); });
  untouched.step([&] { return v.abs().sum(); });
  expect_same_bits({w}, {v});
  EXPECT_EQ(3u, optimizer.summary().differences.size());
}

TEST(Resume, RefusesOtherShapes) {
  expect_load_refused(
      [](std::ostream& file) {
        auto w = torch::ones({2, 3}).set_requires_grad(true);
        SAdam other({w});
        other.step([&] { return w.sum(); });
        torch::save(other, file);
      },
      {"parameter 0 of group 0", "[3, 2]", "[2, 3]"});
}

TEST(Resume, RefusesOtherShapesOfParametersNeverStepped) {
  expect_load_refused(
      [](std::ostream& file) {
        SAdam other(std::vector<torch::Tensor>{torch::ones({6})});
        torch::save(other, file);
      },
      {"parameter 0 of group 0", "[3, 2]", "[6]"});
}

TEST(Resume, RefusesOptionsOutOfRange) {
  expect_load_refused(
      [](std::ostream& file) {
        SAdam other(std::vector<torch::Tensor>{torch::ones({3, 2})});
        other.param_groups()[0].options().set_lr(-1);
        torch::save(other, file);
      },
      {"load", "lr", "-1"});
}

TEST(Resume, RefusesADamagedState) {
  const auto damaged = [](const std::function<void(torch::serialize::OutputArchive&)>& write) {
    return [write](std::ostream& file) {
      torch::serialize::OutputArchive archive;
      archive.write("sadam_format", c10::IValue(std::int64_t{1}));
      archive.write("optimizer", c10::IValue("SAdam"));
      write(archive);
      archive.save_to(file);
    };
  };
  expect_load_refused(damaged([](auto&) {}), {"'steps'", "damaged"});
  expect_load_refused(damaged([](auto& archive) { archive.write("steps", c10::IValue("seven")); }),
                      {"damaged"});
}

TEST(Resume, AGroupAddedBeforeSavingIsCarried) {
  auto a = torch::ones({3}).set_requires_grad(true);
  auto b = torch::ones({3}).set_requires_grad(true);
  SAdam first({a});
  first.step([&] { return a.abs().sum(); });
  first.add_param_group(torch::optim::OptimizerParamGroup(std::vector<torch::Tensor>{b}));
  std::stringstream file;
  torch::save(first, file);
  SAdam second({a});
  second.add_param_group(torch::optim::OptimizerParamGroup(std::vector<torch::Tensor>{b}));
  torch::load(second, file);
  EXPECT_EQ(1, second.totals().steps);
}

TEST(Resume, RefusesOtherNumbersOfParametersAndGroups) {
  expect_load_refused(
      [](std::ostream& file) {
        SAdam other(std::vector<torch::Tensor>{torch::ones({3, 2}), torch::ones({1})});
        torch::save(other, file);
      },
      {"2 parameters in group 0", "has 1"});
  expect_load_refused(
      [](std::ostream& file) {
        std::vector<torch::optim::OptimizerParamGroup> groups;
        groups.emplace_back(std::vector<torch::Tensor>{torch::ones({3, 2})});
        groups.emplace_back(std::vector<torch::Tensor>{torch::ones({3, 2})});
        SAdam other(groups);
        torch::save(other, file);
      },
      {"2 parameter groups", "has 1"});
}

TEST(Resume, RefusesANewerFormat) {
  expect_load_refused(
      [](std::ostream& file) {
        torch::serialize::OutputArchive archive;
        archive.write("sadam_format", c10::IValue(std::int64_t{99}));
        archive.save_to(file);
      },
      {"format 99", "newer sadam"});
}

TEST(Resume, RefusesAnotherOptimizersState) {
  expect_load_refused(
      [](std::ostream& file) {
        AdamW other(std::vector<torch::Tensor>{torch::ones({3, 2})});
        torch::save(other, file);
      },
      {"sadam::AdamW", "sadam::SAdam"});
  expect_load_refused(
      [](std::ostream& file) {
        torch::optim::AdamW other(std::vector<torch::Tensor>{torch::ones({3, 2})});
        torch::save(other, file);
      },
      {"no state saved by sadam"});
}

TEST(Resume, RefusesAnotherType) {
  expect_load_refused(
      [](std::ostream& file) {
        auto w = torch::ones({3, 2}, torch::kDouble).set_requires_grad(true);
        SAdam other({w});
        other.step([&] { return w.sum(); });
        torch::save(other, file);
      },
      {"parameter 0 of group 0", "type"});
}

}  // namespace
}  // namespace sadam
