// One run on 1, 2 and 4 ranks.
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "process_group/ranks.h"
#include "step/option_names.h"
#include "support/models.h"
#include "support/refusal.h"

namespace sadam::testing {
namespace {

constexpr std::int64_t kBatch = 16;

/// How many examples each rank has.
using Parts = std::vector<std::int64_t>;

/// Two groups, a kink in the loss, one parameter that only the first example uses, and dropout if wanted.
struct Net {
  torch::nn::Sequential model{torch::nn::Linear(5, 12), torch::nn::ReLU(), torch::nn::Linear(12, 3)};
  torch::Tensor extra = torch::full({3}, 0.5, torch::requires_grad());
  torch::Tensor inputs = torch::randn({kBatch, 5}, torch::kDouble);
  torch::Tensor targets = torch::randint(0, 3, {kBatch}, torch::kLong);
  torch::Tensor is_first = torch::zeros({kBatch, 1}, torch::kDouble);

  explicit Net(torch::Dtype type) {
    model->to(type);
    inputs = inputs.to(type);
    is_first = is_first.to(type);
    extra = extra.detach().to(type).requires_grad_();
    is_first[0] = 1;
  }
  std::vector<torch::optim::OptimizerParamGroup> groups() {
    return {torch::optim::OptimizerParamGroup(model->parameters()),
            torch::optim::OptimizerParamGroup({extra})};
  }
  /// Of some of the examples.
  torch::Tensor loss(const torch::Tensor& rows, double dropout) {
    auto hidden = torch::dropout(inputs.index_select(0, rows), dropout, /*train=*/true);
    auto logits = model->forward(hidden);
    const auto first = is_first.index_select(0, rows);
    if (first.sum().item<double>() > 0) logits = logits + first * extra;
    return torch::cross_entropy_loss(logits, targets.index_select(0, rows));
  }
  torch::Tensor weights() {
    Tensors all;
    for (const auto& parameter : model->parameters()) all.push_back(parameter.detach().reshape({-1}));
    all.push_back(extra.detach());
    return torch::cat(all).to(torch::kDouble);
  }
};

/// A way to train.
struct Way {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(Net&)> make;
};

std::vector<Way> ways_of_s_adam() {
  std::vector<Way> ways;
  const auto add = [&](const std::string& name, const SAdamOptions& options) {
    ways.push_back({name, [options](Net& net) { return std::make_unique<SAdam>(net.groups(), options); }});
  };
  const auto usual = SAdamOptions(1e-2).probes(5);
  for (const auto& directions : names_of(Directions{}))
    for (const auto& statistic : names_of(Statistic{})) {
      if (directions.value == Directions::step && statistic.value != Statistic::residual) continue;
      add(std::string(directions.name) + ", " + std::string(statistic.name),
          SAdamOptions(usual).directions(directions.value).statistic(statistic.value));
    }
  add("held",
      SAdamOptions(usual).directions(Directions::step).statistic(Statistic::residual).brake(Brake::held));
  add("every third step", SAdamOptions(usual).interval(3));
  add("group by group", SAdamOptions(usual).group_by_group(true));
  return ways;
}

std::vector<Way> all_ways() {
  auto ways = ways_of_s_adam();
  ways.push_back({"fresh noise", [](Net& net) {
                    return std::make_unique<SAdam>(net.groups(), SAdamOptions(1e-2).noise(ProbeNoise::fresh));
                  }});
  for (const auto& place : names_of(GradientAt{})) {
    ways.push_back({"AdamW, " + std::string(place.name), [place](Net& net) {
                      return std::make_unique<AdamW>(net.groups(),
                                                     AdamWOptions(1e-2).gradient_at(place.value));
                    }});
    ways.push_back({"ProxSGD, " + std::string(place.name), [place](Net& net) {
                      return std::make_unique<ProxSGD>(net.groups(),
                                                       ProxSGDOptions(1e-2).gradient_at(place.value));
                    }});
  }
  return ways;
}

struct Kind {
  torch::Dtype type = torch::kDouble;
  double dropout = 0;
  int steps = 20;
};
const Kind kShortAndNoisy{torch::kFloat, 0.3, 8};

/// Of each way: a row for each step, of the weights, loss, ρ and brake after it.
Tensors trajectories(const std::vector<Way>& ways, const Group& group, const Parts& parts,
                     const GroupOptions& options = {}, const Kind& kind = {}) {
  Tensors runs;
  const auto all = torch::arange(kBatch);
  const auto rows = group && options.split() == Split::batch ? part_of(all, parts, group->rank()) : all;
  for (const auto& way : ways) {
    torch::manual_seed(3);
    Net net(kind.type);
    const auto optimizer = way.make(net);
    if (group) optimizer->join(group, options);
    Tensors steps;
    for (int s = 0; s < kind.steps; ++s) {
      StepRequest request;
      request.parts = {[&] { return net.loss(rows, kind.dropout); }};
      request.examples = rows.size(0);
      if (s % 2 == 1)
        request.before_update = [&] { torch::nn::utils::clip_grad_norm_(net.model->parameters(), 0.5); };
      const auto loss = optimizer->step(request);
      const auto& found = optimizer->summary();
      EXPECT_EQ(loss.item<double>(),
                kind.type == torch::kDouble ? found.loss : static_cast<float>(found.loss));
      steps.push_back(
          torch::cat({net.weights(), torch::tensor({found.loss, found.lgi, found.brake}, torch::kDouble)}));
    }
    runs.push_back(torch::stack(steps));
  }
  return runs;
}

/// That the ranks' runs of all ways are those of one process.
void expect_near(const std::vector<Way>& ways, const std::vector<Tensors>& ranks) {
  static const Tensors one = trajectories(ways, nullptr, {});
  for (std::size_t w = 0; w < ways.size(); ++w) {
    ASSERT_EQ(ranks[0].size(), ways.size());
    EXPECT_LT((ranks[0][w] - one[w]).abs().max().item<double>(), 1e-10) << ways[w].name;
    EXPECT_GT((one[w][-1] - one[w][0]).abs().max().item<double>(), 1e-2) << ways[w].name;
  }
}

void expect_equal_ranks(const std::vector<Tensors>& ranks) {
  for (const auto& rank : ranks) expect_same_bits(rank, ranks[0]);
}

TEST(Ranks, TwoWithEqualPartsTakeTheStepsOfOneProcess) {
  const auto ways = all_ways();
  const auto ranks = results_of(2, [&](const Group& group) {
    return trajectories(ways, group, {8, 8}, GroupOptions().check_ranks_every(1));
  });
  expect_near(ways, ranks);
  expect_equal_ranks(ranks);
}

TEST(Ranks, FourWithUnequalPartsTakeTheStepsOfOneProcess) {
  const auto ways = all_ways();
  const auto ranks = results_of(4, [&](const Group& group) {
    return trajectories(ways, group, {7, 5, 0, 4}, GroupOptions().bucket_bytes(200));  // several buckets
  });
  expect_near(ways, ranks);
  expect_equal_ranks(ranks);
}

TEST(Ranks, AreEqualToTheBitInFloat32WithDropout) {
  const auto ways = ways_of_s_adam();
  const auto ranks = results_of(3, [&](const Group& group) {
    return trajectories(ways, group, {6, 6, 4}, GroupOptions().check_ranks_every(7), kShortAndNoisy);
  });
  expect_equal_ranks(ranks);
}

TEST(Ranks, ThatShareTheProbesTakeTheStepsOfOneProcessBitForBit) {
  const auto ways = ways_of_s_adam();
  const auto body = [&](const Group& group) {
    return trajectories(ways, group, {}, GroupOptions().split(Split::probes).check_ranks_every(10),
                        kShortAndNoisy);
  };
  const auto two = results_of(2, body);
  const auto four = results_of(4, body);
  torch::set_num_threads(1);
  const auto one = body(nullptr);
  for (const auto& ranks : {two, four})
    for (const auto& rank : ranks) expect_same_bits(rank, one);
}

TEST(Ranks, ThatShareTheProbesEvaluateEachOnce) {
  const auto ranks = results_of(2, [&](const Group& group) {
    torch::manual_seed(3);
    Net net(torch::kDouble);
    SAdam optimizer(net.groups(), SAdamOptions(1e-2).probes(5));
    optimizer.join(group, GroupOptions().split(Split::probes));
    int evaluations = 0;
    const auto step = [&] {
      optimizer.step([&] {
        ++evaluations;
        return net.loss(torch::arange(kBatch), 0);
      });
    };
    step();  // is checked, with more evaluations
    evaluations = 0;
    step();
    return Tensors{torch::tensor(evaluations)};
  });
  EXPECT_EQ(ranks[0][0].item<int>(), 1 + 3);
  EXPECT_EQ(ranks[1][0].item<int>(), 1 + 2);
}

/// The loop's own backward, clipping, and the update.
Tensors split_form(const Group& group, const Parts& parts, Split split = Split::batch) {
  torch::manual_seed(3);
  Net net(torch::kDouble);
  const auto all = torch::arange(kBatch);
  const auto rows = group && split == Split::batch ? part_of(all, parts, group->rank()) : all;
  SAdam optimizer(net.groups(), SAdamOptions(1e-2).probes(3).statistic(Statistic::residual));
  optimizer.join(group, GroupOptions().split(split).check_ranks_every(9));
  Tensors steps;
  for (int s = 0; s < 50; ++s) {
    const auto loss_fn = [&] { return net.loss(rows, 0); };
    optimizer.begin();
    optimizer.zero_grad();
    const auto loss = loss_fn();
    loss.backward();
    optimizer.average_gradients();
    const auto brakes = optimizer.probe(loss_fn, loss);
    torch::nn::utils::clip_grad_norm_(net.model->parameters(), 0.5);
    optimizer.step(brakes);
    const auto& found = optimizer.summary();
    steps.push_back(
        torch::cat({net.weights(), torch::tensor({found.loss, found.lgi, found.brake}, torch::kDouble)}));
  }
  return {torch::stack(steps)};
}

TEST(Ranks, TakeTheStepsOfOneProcessInLoopsThatCallBackward) {
  const auto ranks = results_of(2, [&](const Group& group) {
    return Tensors{split_form(group, {8, 8})[0], split_form(group, {}, Split::probes)[0]};
  });
  torch::set_num_threads(1);
  const auto one = split_form(nullptr, {})[0];
  EXPECT_LT((ranks[0][0] - one).abs().max().item<double>(), 1e-10);
  expect_same_bits({ranks[0][1]}, {one});
  expect_equal_ranks(ranks);
}

TEST(Ranks, DrawDropoutOfTheirOwnWhichIsTheSameInAllEvaluationsOfAStep) {
  const auto ranks = results_of(2, [](const Group& group) {
    torch::manual_seed(1);
    NoisyNet net;
    const Batch batch;
    torch::manual_seed(10 + group->rank());
    SAdam optimizer(net, SAdamOptions(1e-2).probes(3).radius(1e-6));
    optimizer.join(group, GroupOptions().check_ranks_every(1));
    Tensors of_steps;
    for (int s = 0; s < 4; ++s) {
      net->masks.clear();
      optimizer.step([&] { return torch::cross_entropy_loss(net->forward(batch.inputs), batch.targets); });
      for (const auto& mask : net->masks) EXPECT_TRUE(torch::equal(mask, net->masks[0])) << "step " << s;
      of_steps.push_back(net->masks[0]);
    }
    return of_steps;
  });
  for (std::size_t s = 0; s < 4; ++s) EXPECT_FALSE(torch::equal(ranks[0][s], ranks[1][s])) << "step " << s;
}

/// Of one rank, that claims to be two and counts sums. The other one's numbers are zeros.
class CountingGroup : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void sum(const Tensors& tensors) override { start_sum(tensors); }
  std::function<void()> start_sum(const Tensors& tensors) override {
    // What is compared before the first step is a row for each rank.
    for (const auto& tensor : tensors)
      if (tensor.dim() == 2) tensor[1].copy_(tensor[0]);
    ++started;
    return [] {};
  }
  void broadcast(const Tensors&) override {}
  int started = 0;
};

TEST(Ranks, SendGradientsWhileTheBackwardPassGoesOn) {
  const auto started_at_the_first_layer = [](std::int64_t bucket_bytes) {
    torch::nn::Sequential model(torch::nn::Linear(5, 12), torch::nn::ReLU(), torch::nn::Linear(12, 3));
    AdamW optimizer(model->parameters(), AdamWOptions(1e-2));
    const auto group = std::make_shared<CountingGroup>();
    optimizer.join(group, GroupOptions().bucket_bytes(bucket_bytes));
    int started = 0;
    optimizer.step([&] {
      const auto hidden = model[0]->as<torch::nn::Linear>()->forward(torch::ones({2, 5}));
      hidden.register_hook([&](const torch::Tensor&) { started = group->started; });
      return model[2]->as<torch::nn::Linear>()->forward(hidden.relu()).square().mean();
    });
    return started - 1;  // without the comparison
  };
  EXPECT_EQ(started_at_the_first_layer(1), 2);  // weight and bias of the last one
  EXPECT_EQ(started_at_the_first_layer(1 << 20), 0);
}

TEST(Ranks, RefuseAGradientThatComesAgainAfterItWasSent) {
  torch::nn::Sequential model(torch::nn::Linear(5, 12), torch::nn::ReLU(), torch::nn::Linear(12, 3));
  AdamW optimizer(model->parameters(), AdamWOptions(1e-2));
  optimizer.join(std::make_shared<CountingGroup>(), GroupOptions().bucket_bytes(1));
  const auto loss_of = [&](const torch::Tensor& hidden) {
    return model[2]->as<torch::nn::Linear>()->forward(hidden).square().mean();
  };
  EXPECT_TRUE(says(refusal([&] {
                     optimizer.step([&] {
                       const auto hidden = model[0]->as<torch::nn::Linear>()->forward(torch::ones({2, 5}));
                       // What a reentrant checkpoint does: a backward pass within the backward pass.
                       hidden.register_hook([&](const torch::Tensor&) {
                         const torch::AutoGradMode with_gradients(true);
                         loss_of(torch::ones({2, 12})).backward();
                       });
                       return loss_of(hidden.relu());
                     });
                   }),
                   "a gradient came twice in one backward pass"));
}

TEST(Ranks, OfAGroupOfOneAreAProcess) {
  const auto ways = ways_of_s_adam();
  const auto ranks = results_of(
      1, [&](const Group& group) { return trajectories(ways, group, {kBatch}, {}, kShortAndNoisy); });
  torch::set_num_threads(1);
  expect_same_bits(ranks[0], trajectories(ways, nullptr, {}, {}, kShortAndNoisy));
}

}  // namespace
}  // namespace sadam::testing
