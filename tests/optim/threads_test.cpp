// Torch's default generator belongs to the whole process: a step leaves it to others, unless the model draws.
#include <atomic>
#include <limits>
#include <thread>
#include <unordered_set>

#include "support/models.h"
#include "support/warnings.h"

namespace sadam {
namespace {

using namespace sadam::testing;

// Takes steps while another thread works, at least so many, and until that thread has done its share.
void train_beside(const std::function<void()>& step, int steps, const std::function<void(int)>& work) {
  std::atomic<int> rounds = 0;
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) work(rounds++);
  });
  for (int i = 0; i < steps || rounds < 500; ++i) step();
  stop = true;
  other.join();
}

TEST(OtherThreads, MayDrawFromTheDefaultGeneratorWhereTheModelDoesNot) {
  const Batch batch;
  for (const bool dropout_in_evaluation : {false, true}) {
    torch::nn::Sequential model(torch::nn::Linear(6, 8), torch::nn::ReLU(), torch::nn::Linear(8, 3));
    if (dropout_in_evaluation) {
      model->push_back(torch::nn::Dropout(0.5));
      model->eval();
    }
    SAdam optimizer(model, SAdamOptions(0.01));
    std::unordered_set<std::int64_t> drawn;
    std::size_t repeats = 0;
    train_beside(
        [&] {
          optimizer.step([&] {
            return torch::nn::functional::cross_entropy(model->forward(batch.inputs), batch.targets);
          });
        },
        300,
        [&](int) {
          const auto numbers = torch::randint(std::numeric_limits<std::int64_t>::max(), {20}, torch::kLong);
          for (std::int64_t i = 0; i < 20; ++i)
            if (!drawn.insert(numbers[i].item<std::int64_t>()).second) ++repeats;
        });
    EXPECT_EQ(0u, repeats) << "of " << drawn.size();
  }
}

TEST(OtherThreads, ThatDrawNothingDoNotDisturbTheMasks) {
  auto w = torch::randn({50}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.01));
  const CapturedWarnings warnings;
  const auto x = torch::ones({8, 8});
  std::vector<torch::Tensor> masks;
  train_beside(
      [&] {
        masks.clear();
        optimizer.step([&] {
          masks.push_back(torch::dropout(torch::ones({50}), 0.5, true));
          return (masks.back() * w).abs().sum();
        });
        for (const auto& mask : masks) ASSERT_TRUE(torch::equal(masks[0], mask));
      },
      300, [&](int) { x.mm(x).relu(); });
  ASSERT_EQ(3u, masks.size());
  EXPECT_TRUE(warnings.sentences().empty());
}

// Beside dropout they do, and that is said.
TEST(OtherThreads, ThatDrawDuringAProbeAreWarnedOf) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net, SAdamOptions(0.01));
  const CapturedWarnings warnings;
  int evaluations = 0;
  const auto disturbed = [&] {
    auto loss = loss_of(net, batch);
    if (++evaluations % 3 == 0) std::thread([] { torch::rand({3}); }).join();
    return loss;
  };
  optimizer.step([&] { return loss_of(net, batch); });
  EXPECT_TRUE(warnings.sentences().empty());
  optimizer.step(disturbed);
  EXPECT_EQ(1u, warnings.count("a probe drew other random numbers than the base evaluation"));
  EXPECT_EQ(1u, warnings.count("give data loaders generators of their own"));
}

}  // namespace
}  // namespace sadam
