// What one rank does wrong, all ranks hear of, in one sentence.
#include <cmath>
#include <stdexcept>
#include <thread>
#include <utility>

#include "process_group/ranks.h"
#include "support/models.h"
#include "support/refusal.h"

namespace sadam::testing {
namespace {

/// A net with its optimizer, the same on every rank, and a part of the batch on each.
struct Training {
  torch::nn::Sequential model{torch::nn::Linear(4, 6), torch::nn::ReLU(), torch::nn::Linear(6, 2)};
  torch::Tensor inputs = torch::randn({4, 4});
  torch::Tensor targets = torch::randn({4, 2});
  SAdam optimizer;
  StepRequest request;

  explicit Training(const Group& group, const GroupOptions& options = {}, const SAdamOptions& given = {1e-2})
      : optimizer(model, given) {
    if (group) inputs = inputs + group->rank();
    optimizer.join(group, options);
    request.parts = {[this] { return loss(); }};
  }
  torch::Tensor loss() { return torch::mse_loss(model->forward(inputs), targets); }
  torch::Tensor weights() {
    Tensors all;
    for (const auto& parameter : model->parameters()) all.push_back(parameter.detach().reshape({-1}));
    return torch::cat(all);
  }
};

/// The rank that errs in these tests.
bool is_bad(const Group& group) { return group->rank() == 1; }

/// In step 2 of 4 the bad rank's closure goes through `what`; in step 3 that rank has no examples, and must
/// forget what it saw. Returns the weights after each step, and counts.
Tensors with_bad_evaluation(const Group& group,
                            const std::function<torch::Tensor(torch::Tensor, bool)>& what) {
  Training training(group);
  auto& optimizer = training.optimizer;
  Tensors result;
  for (int s = 0; s < 4; ++s) {
    int evaluation = 0;
    StepRequest request;
    request.parts = {[&] {
      const auto loss = training.loss();
      const bool is_base = evaluation++ == 0;
      return s == 2 && is_bad(group) ? what(loss, is_base) : loss;
    }};
    request.examples = s == 3 && is_bad(group) ? 0 : 1;
    optimizer.step(request);
    result.push_back(training.weights());
  }
  for (const auto count : {optimizer.totals().skipped, optimizer.totals().non_finite_probes})
    result.push_back(torch::tensor(count));
  return result;
}

void expect_one_skip(const std::vector<Tensors>& ranks) {
  for (const auto& rank : ranks) {
    expect_same_bits(rank, ranks[0]);
    EXPECT_TRUE(torch::equal(rank[1], rank[2]));
    EXPECT_FALSE(torch::equal(rank[2], rank[3]));
    EXPECT_EQ(rank[4].item<int>(), 1);
  }
}

TEST(RankFaults, ALossThatIsNotFiniteOnOneSkipsTheStepOnAll) {
  expect_one_skip(results_of(3, [](const Group& group) {
    return with_bad_evaluation(group, [](const torch::Tensor& loss, bool) { return loss / 0; });
  }));
}

TEST(RankFaults, AGradientThatIsNotFiniteOnOneSkipsTheStepOnAll) {
  expect_one_skip(results_of(2, [](const Group& group) {
    return with_bad_evaluation(
        group, [](const torch::Tensor& loss, bool) { return loss + (loss - loss.detach()).sqrt(); });
  }));
}

TEST(RankFaults, AProbeThatIsNotFiniteOnOneIsCountedOnAll) {
  const auto ranks = results_of(2, [](const Group& group) {
    return with_bad_evaluation(
        group, [](const torch::Tensor& loss, bool is_base) { return is_base ? loss : loss / 0; });
  });
  for (const auto& rank : ranks) {
    expect_same_bits(rank, ranks[0]);
    EXPECT_EQ(rank[4].item<int>(), 0);
    EXPECT_EQ(rank[5].item<int>(), 2);
  }
}

TEST(RankFaults, WhatOneThrowsStopsTheStepOnAllAndTheyGoOnTogether) {
  const auto body = [](const Group& group) {
    Training training(group, GroupOptions().check_ranks_every(1));
    auto& optimizer = training.optimizer;
    const bool bad = group && is_bad(group);
    optimizer.step(training.request);
    // In the base evaluation, in a probe, before the update.
    for (int place = 0; group && place < 3; ++place) {
      const auto before = training.weights();
      int evaluation = 0;
      auto request = training.request;
      request.parts = {[&] {
        if (bad && evaluation++ == place) throw std::runtime_error("the disk is full");
        return training.loss();
      }};
      request.before_update = [&] {
        if (bad && place == 2) throw std::runtime_error("the disk is full");
      };
      if (place == 2) request.parts = training.request.parts;
      const auto sentence = refusal<std::runtime_error>([&] { optimizer.step(request); });
      EXPECT_TRUE(says(sentence, bad ? "the disk is full" : "rank 1 of 3 failed in this step")) << place;
      EXPECT_TRUE(torch::equal(before, training.weights()));
      for (const auto& parameter : training.model->parameters()) EXPECT_FALSE(parameter.grad().defined());
    }
    optimizer.step(training.request);
    return Tensors{training.weights()};
  };
  const auto without_faults = [&](const Group& group) {
    Training training(group);
    for (int s = 0; s < 2; ++s) training.optimizer.step(training.request);
    return Tensors{training.weights()};
  };
  const auto ranks = results_of(3, [&](const Group& group) {
    torch::manual_seed(1);
    const auto expected = without_faults(group);
    torch::manual_seed(1);
    auto found = body(group);
    found.push_back(expected[0]);
    return found;
  });
  for (const auto& rank : ranks) {
    expect_same_bits(rank, ranks[0]);
    ASSERT_EQ(rank.size(), 2U);
    EXPECT_TRUE(torch::equal(rank[0], rank[1]));
  }
}

TEST(RankFaults, WeightsThatDriftApartAreNoticedAndTheRankIsNamed) {
  for (const auto& ended : on_ranks(3, [](const Group& group) {
         Training training(group, GroupOptions().check_ranks_every(4));
         for (int s = 0; s < 8; ++s) {
           if (s == 5 && is_bad(group)) {
             const torch::NoGradGuard no_grad;
             training.model->parameters()[0][0][0] += 1e-6;
           }
           training.optimizer.step(training.request);
         }
         EXPECT_EQ(training.optimizer.totals().steps, 8);  // the next is the ninth, which is compared
         training.optimizer.step(training.request);
         return Tensors();
       }))
    EXPECT_EQ(ended.sentence,
              "rank 1 has other weights than rank 0: broadcast those of rank 0 before training.");
}

void expect_sentence(const std::vector<Ended>& ranks, const std::string& sentence) {
  for (const auto& ended : ranks) EXPECT_EQ(ended.sentence, sentence);
}

TEST(RankFaults, RanksThatDoNotFitAreRefusedInTheFirstStep) {
  const auto first_step = [](const Group& group, const SAdamOptions& options, int width, double shift) {
    torch::manual_seed(1);
    torch::nn::Sequential model(torch::nn::Linear(4, width));
    const torch::NoGradGuard no_grad;
    model->parameters()[0].add_(shift);
    SAdam optimizer(model, options);
    optimizer.join(group);
    return refusal([&] { optimizer.step([&] { return model->forward(torch::ones({1, 4})).sum(); }); });
  };
  results_of(2, [&](const Group& group) {
    const bool bad = is_bad(group);
    EXPECT_TRUE(says(first_step(group, {1e-2}, bad ? 3 : 2, 0), "rank 1 has other parameters than rank 0"));
    EXPECT_TRUE(says(first_step(group, {bad ? 1e-3 : 1e-2}, 2, 0), "rank 1 has other options than rank 0"));
    EXPECT_TRUE(says(first_step(group, {1e-2}, 2, bad ? 1e-6 : 0), "rank 1 has other weights than rank 0"));
    return Tensors();
  });
}

TEST(RankFaults, GradientsThatNobodyAveragedAreRefused) {
  expect_sentence(on_ranks(2,
                           [](const Group& group) {
                             Training training(group);
                             training.optimizer.zero_grad();
                             training.loss().backward();
                             training.optimizer.step(1.0);
                             return Tensors();
                           }),
                  "rank 1 has other gradients than rank 0: call average_gradients() after backward.");
}

TEST(RankFaults, ABatchThatIsEmptyEverywhereIsRefused) {
  expect_sentence(on_ranks(2,
                           [](const Group& group) {
                             Training training(group);
                             training.request.examples = 0;
                             training.optimizer.step(training.request);
                             return Tensors();
                           }),
                  "SAdam: no rank has an example: leave out a batch that is empty on all of them.");
}

TEST(RankFaults, FreshNoiseAndSharedProbesAreRefused) {
  for (const auto& ended : on_ranks(2, [](const Group& group) {
         Training training(group, GroupOptions().split(Split::probes),
                           SAdamOptions(1e-2).noise(ProbeNoise::fresh));
         training.optimizer.step(training.request);
         return Tensors();
       }))
    EXPECT_TRUE(says(ended.sentence, "ranks cannot share the probes: use 'shared', or split the batch."));
}

/// One rank of three ends in the middle of a step; the others must say so in time.
void expect_named(int bad, int signal) {
  constexpr std::chrono::seconds kTimeout(2);
  const auto began = std::chrono::steady_clock::now();
  const auto ranks = on_ranks(
      3,
      [&](const Group& group) {
        Training training(group);
        for (int s = 0; s < 5; ++s)
          training.optimizer.step([&] {
            if (s == 3 && group->rank() == bad) ::raise(signal);
            return training.loss();
          });
        return Tensors();
      },
      kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2 * kTimeout + std::chrono::seconds(20));
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == bad) continue;
    const auto& sentence = ranks[static_cast<std::size_t>(rank)].sentence;
    EXPECT_EQ(ranks[static_cast<std::size_t>(rank)].status, 1);
    EXPECT_TRUE(says(sentence, "rank " + std::to_string(rank) +
                                   " of 3 gave up, because nothing is heard of rank " + std::to_string(bad) +
                                   " ("));
  }
}

TEST(RankFaults, ARankThatIsKilledIsNamedByTheOthers) { expect_named(1, SIGKILL); }
TEST(RankFaults, TheRankWithTheStoreIsNamedWhenItIsKilled) { expect_named(0, SIGKILL); }
TEST(RankFaults, ARankThatStopsIsNamedByTheOthersInTime) { expect_named(2, SIGSTOP); }
TEST(RankFaults, TheRankWithTheStoreIsNamedWhenItStops) { expect_named(0, SIGSTOP); }

TEST(RankFaults, RanksThatShareTheProbesOfAnotherLossAreRefused) {
  const auto ranks = on_ranks(2, [](const Group& group) {
    torch::manual_seed(3);
    torch::nn::Linear model(4, 1);
    SAdam optimizer(model->parameters(), SAdamOptions(1e-2).probes(4));
    optimizer.join(group, GroupOptions().split(Split::probes));
    const auto x = torch::ones({8, 4}) * (1 + group->rank());
    const auto before = model->weight.detach().clone();
    try {
      optimizer.step([&] { return model->forward(x).square().mean(); });
    } catch (const Error&) {
      EXPECT_TRUE(torch::equal(model->weight, before));
      throw;
    }
    return Tensors();
  });
  for (const auto& rank : ranks) EXPECT_TRUE(says(rank.sentence, "rank 1 has another loss than rank 0"));
}

TEST(RankFaults, WithSharedProbesALossThatIsNotFiniteOnOneSkipsTheStepOnAll) {
  const auto ranks = on_ranks(2, [](const Group& group) {
    torch::manual_seed(3);
    torch::nn::Linear model(4, 1);
    SAdam optimizer(model->parameters(), SAdamOptions(1e-2).probes(4));
    optimizer.join(group, GroupOptions().split(Split::probes));
    const auto step = [&](double factor) {
      optimizer.step([&] { return model->forward(torch::ones({8, 4})).square().mean() * factor; });
      return model->weight.detach().clone();
    };
    const auto first = step(1);
    EXPECT_TRUE(torch::equal(step(group->rank() == 1 ? std::nan("") : 1), first));
    EXPECT_EQ(optimizer.totals().skipped, 1);
    step(group->rank() == 1 ? 1.001 : 1);  // rounding may add up to as much: only the first step is compared
    return Tensors();
  });
  for (const auto& rank : ranks) EXPECT_EQ(rank.status, 0) << rank.sentence;
}

TEST(RankFaults, ARankThatIsMissingAtTheStartIsNamed) {
  const auto nothing = [](const Group&) { return Tensors(); };
  const auto ranks = on_ranks(3, nothing, std::chrono::seconds(3), {1});
  EXPECT_EQ(ranks[0].sentence,
            "make_gloo_group: rank 0 waited 3 s for rank 1 of 3: start all ranks, with the same host, port "
            "and size.");
}

TEST(RankFaults, AMissingRankZeroIsNamed) {
  const auto nothing = [](const Group&) { return Tensors(); };
  const auto ranks = on_ranks(2, nothing, std::chrono::seconds(2), {0});
  EXPECT_TRUE(says(ranks[1].sentence, "rank 1 found no rank 0 at 127.0.0.1:"));
}

}  // namespace
}  // namespace sadam::testing
