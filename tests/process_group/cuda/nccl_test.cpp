// Ranks over NCCL, eager and captured.
#include <csignal>
#include <string>

#include "process_group/ranks.h"
#include "support/gpu.h"
#include "support/models.h"
#include "support/refusal.h"

namespace sadam::testing {
namespace {

constexpr int kSteps = 50;
constexpr std::int64_t kBatch = 16;

Group over_nccl(const RankOptions& options) { return make_nccl_group(options, torch::kCUDA); }

/// In double, so that the order of sums does not hide anything.
struct Net {
  torch::nn::Sequential model{torch::nn::Linear(5, 32), torch::nn::ReLU(), torch::nn::Linear(32, 3)};
  torch::Tensor inputs = torch::randn({kBatch, 5}, torch::kDouble).cuda();
  torch::Tensor targets = torch::randint(0, 3, {kBatch}, torch::kLong).cuda();

  Net() { model->to(torch::kCUDA, torch::kDouble); }
  torch::Tensor weights() {
    Tensors all;
    for (const auto& parameter : model->parameters()) all.push_back(parameter.detach().reshape({-1}));
    return torch::cat(all).clone();
  }
};

struct Way {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(Net&)> make;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  const auto add = [&](const std::string& name, const SAdamOptions& options) {
    ways.push_back({name, [options](Net& net) { return std::make_unique<SAdam>(net.model, options); }});
  };
  add("as published", SAdamOptions::paper(1e-2).probes(5));
  add("residual", SAdamOptions(1e-2).probes(5).statistic(Statistic::residual));
  add("along the step", SAdamOptions(1e-2).directions(Directions::step).statistic(Statistic::residual));
  add("every third step", SAdamOptions(1e-2).probes(2).interval(3));
  ways.push_back({"AdamW", [](Net& net) {
                    return std::make_unique<AdamW>(net.model->parameters(), AdamWOptions(1e-2));
                  }});
  ways.push_back({"ProxSGD", [](Net& net) {
                    return std::make_unique<ProxSGD>(net.model->parameters(), ProxSGDOptions(1e-2));
                  }});
  return ways;
}

/// Of each way: a row for each step, of the weights, loss, ρ and brake after it.
Tensors trajectories(const Group& group, bool captured, const std::vector<std::int64_t>& parts,
                     const GroupOptions& options = {}) {
  Tensors runs;
  for (const auto& way : all_ways()) {
    torch::manual_seed(3);
    Net net;
    const auto optimizer = way.make(net);
    auto inputs = net.inputs;
    auto targets = net.targets;
    if (group) {
      optimizer->join(group, options);
      if (options.split() == Split::batch) {
        inputs = part_of(inputs, parts, group->rank());
        targets = part_of(targets, parts, group->rank());
      }
    }
    GraphedStep step(
        net.model, *optimizer,
        [&](const Tensors& batch) {
          return torch::cross_entropy_loss(net.model->forward(batch[0]), batch[1]);
        },
        GraphOptions().capture(captured));
    Tensors steps;
    for (int s = 0; s < kSteps; ++s) {
      step({inputs, targets});
      EXPECT_EQ(step.is_captured(), captured && inputs.size(0) > 0) << way.name << ": " << step.why_not();
      const auto& found = optimizer->summary();
      steps.push_back(torch::cat(
          {net.weights().cpu(), torch::tensor({found.loss, found.lgi, found.brake}, torch::kDouble)}));
    }
    runs.push_back(torch::stack(steps));
  }
  return runs;
}

void expect_near(const Tensors& one, const std::vector<Tensors>& ranks) {
  const auto ways = all_ways();
  for (const auto& rank : ranks) {
    expect_same_bits(rank, ranks[0]);
    ASSERT_EQ(rank.size(), ways.size());
    for (std::size_t w = 0; w < ways.size(); ++w) {
      EXPECT_LT((rank[w] - one[w]).abs().max().item<double>(), 1e-10) << ways[w].name;
      EXPECT_GT((one[w][-1] - one[w][0]).abs().max().item<double>(), 1e-2) << ways[w].name;
    }
  }
}

TEST(NcclRanks, SumAndBroadcast) {
  SADAM_NEEDS_GPU();
  const auto ranks = results_of(
      2,
      [](const Group& group) {
        const auto on = torch::TensorOptions().device(torch::kCUDA);
        const auto sum = torch::full({3}, group->rank() + 1.0, on);
        const auto strided = torch::full({2, 3}, group->rank() + 1.0, on).t();
        const auto sent = torch::full({2}, 7.0 - group->rank(), on);
        group->sum({sum, strided});
        group->broadcast({sent});
        EXPECT_TRUE(says(refusal([&] { group->sum({torch::ones(1)}); }), "is on cpu: move the model there"));
        return Tensors{sum.cpu(), strided.cpu().contiguous(), sent.cpu()};
      },
      over_nccl);
  for (const auto& rank : ranks) {
    EXPECT_TRUE(torch::equal(rank[0], torch::full({3}, 3.0)));
    EXPECT_TRUE(torch::equal(rank[1], torch::full({3, 2}, 3.0)));
    EXPECT_TRUE(torch::equal(rank[2], torch::full({2}, 7.0)));
  }
}

TEST(NcclRanks, WithCapturedStepsTakeTheStepsOfOneProcess) {
  SADAM_NEEDS_GPU();
  const auto ranks = results_of(
      2,
      [](const Group& group) {
        return trajectories(group, true, {11, 5}, GroupOptions().check_ranks_every(10).bucket_bytes(300));
      },
      over_nccl);
  expect_near(trajectories(nullptr, true, {}), ranks);
}

TEST(NcclRanks, WithEagerStepsTakeTheStepsOfOneProcess) {
  SADAM_NEEDS_GPU();
  const auto ranks = results_of(
      2,
      [](const Group& group) {
        return trajectories(group, false, {8, 8});
      },
      over_nccl);
  expect_near(trajectories(nullptr, false, {}), ranks);
}

TEST(NcclRanks, MayJoinAfterStepsWereCaptured) {
  SADAM_NEEDS_GPU();
  const auto train = [](const Group& group) {
    torch::manual_seed(3);
    Net net;
    SAdam optimizer(net.model, SAdamOptions(1e-2).probes(2));
    GraphedStep step(net.model, optimizer, [&](const Tensors& batch) {
      return torch::cross_entropy_loss(net.model->forward(batch[0]), batch[1]);
    });
    for (int s = 0; s < 5; ++s) step({net.inputs, net.targets});  // all the same, each by itself
    if (group) optimizer.join(group);
    const auto rows = group ? kBatch / group->size() : kBatch;
    const auto first = group ? rows * group->rank() : 0;
    for (int s = 0; s < 20; ++s)
      step({net.inputs.narrow(0, first, rows), net.targets.narrow(0, first, rows)});
    EXPECT_TRUE(step.is_captured()) << step.why_not();
    return Tensors{net.weights().cpu()};
  };
  const auto ranks = results_of(2, train, over_nccl);
  expect_same_bits(ranks[0], ranks[1]);
  EXPECT_LT((ranks[0][0] - train(nullptr)[0]).abs().max().item<double>(), 1e-10);
}

TEST(NcclRanks, ClipTogether) {
  SADAM_NEEDS_GPU();
  const auto train = [](const Group& group) {
    torch::manual_seed(3);
    Net net;
    SAdam optimizer(net.model, SAdamOptions(1e-2).probes(2));
    if (group) optimizer.join(group);
    const auto rows = group ? kBatch / group->size() : kBatch;
    const auto first = group ? rows * group->rank() : 0;
    StepRequest request;
    request.parts = {[&] {
      return torch::cross_entropy_loss(net.model->forward(net.inputs.narrow(0, first, rows)),
                                       net.targets.narrow(0, first, rows));
    }};
    request.before_update = [&] { torch::nn::utils::clip_grad_norm_(net.model->parameters(), 0.1); };
    for (int s = 0; s < kSteps; ++s) optimizer.step(request);
    return Tensors{net.weights().cpu()};
  };
  const auto ranks = results_of(2, train, over_nccl);
  expect_same_bits(ranks[0], ranks[1]);
  EXPECT_LT((ranks[0][0] - train(nullptr)[0]).abs().max().item<double>(), 1e-10);
}

TEST(NcclRanks, WithoutExamplesGoAlongWithCapturedOnes) {
  SADAM_NEEDS_GPU();
  const auto ranks = results_of(
      2,
      [](const Group& group) {
        return trajectories(group, true, {16, 0});
      },
      over_nccl);
  expect_near(trajectories(nullptr, true, {}), ranks);
}

TEST(NcclRanks, ThatShareTheProbesTakeTheStepsOfOneProcess) {
  SADAM_NEEDS_GPU();
  const auto ranks = results_of(
      2,
      [](const Group& group) { return trajectories(group, true, {}, GroupOptions().split(Split::probes)); },
      over_nccl);
  expect_near(trajectories(nullptr, true, {}), ranks);
}

TEST(NcclRanks, NameTheOneThatWasKilled) {
  SADAM_NEEDS_GPU();
  const auto body = [](bool captured, const Group& group) {
    Net net;
    SAdam optimizer(net.model, SAdamOptions(1e-2).probes(2));
    group->broadcast(net.model->parameters());
    optimizer.join(group);
    GraphedStep step(
        net.model, optimizer,
        [&](const Tensors& batch) {
          return torch::cross_entropy_loss(net.model->forward(batch[0]), batch[1]);
        },
        GraphOptions().capture(captured));
    for (int s = 0;; ++s) {
      if (s == 20 && group->rank() == 1) ::raise(SIGKILL);
      step({net.inputs, net.targets});
    }
    return Tensors{};
  };
  for (const bool captured : {false, true}) {
    // Each of the two has a port and a folder of its own only in the parent.
    if (std::getenv("SADAM_TEST_RANK") != nullptr &&
        captured != (std::getenv("SADAM_TEST_CAPTURED") != nullptr))
      continue;
    if (captured) ::setenv("SADAM_TEST_CAPTURED", "1", 1);
    const auto ranks = on_ranks(
        2, [&](const Group& group) { return body(captured, group); }, std::chrono::seconds(5), {}, over_nccl);
    ::unsetenv("SADAM_TEST_CAPTURED");
    EXPECT_EQ(ranks[1].status, -SIGKILL);
    EXPECT_EQ(ranks[0].status, 1) << (captured ? "captured" : "eager");
    EXPECT_TRUE(says(ranks[0].sentence, "nothing is heard of rank 1")) << ranks[0].sentence;
  }
}

}  // namespace
}  // namespace sadam::testing
