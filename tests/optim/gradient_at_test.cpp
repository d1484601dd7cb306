// Gradients that are taken elsewhere than at the weights: SAM, ASAM, randomized smoothing.
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "kernels/direction_element.h"
#include "support/models.h"
#include "support/warnings.h"

namespace sadam {
namespace {

using namespace sadam::testing;

constexpr GradientAt kElsewhere[] = {GradientAt::ascent, GradientAt::adaptive_ascent, GradientAt::nearby};

// A smooth loss of two tensors, in double.
struct Bowl {
  Bowl() {
    torch::manual_seed(11);
    inputs = torch::randn({12, 5}, torch::kDouble);
    a = torch::randn({5, 4}, torch::kDouble).set_requires_grad(true);
    b = torch::randn({4}, torch::kDouble).set_requires_grad(true);
  }
  torch::Tensor loss() const { return (torch::tanh(inputs.matmul(a)) * b).square().mean() + a.pow(4).mean(); }
  std::vector<torch::Tensor> weights() const { return {a, b}; }
  torch::Tensor inputs;
  torch::Tensor a;
  torch::Tensor b;
};

using Tensors = std::vector<torch::Tensor>;
using Rule = std::function<Tensors(const Bowl&, int)>;  // how far each tensor moves before its gradient

// ∇f at w + moves, written plainly.
Tensors gradient_after(const Bowl& bowl, const Tensors& moves) {
  const auto before = copies(bowl.weights());
  {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < moves.size(); ++i) bowl.weights()[i].add_(moves[i]);
  }
  auto gradients = torch::autograd::grad({bowl.loss()}, bowl.weights());
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < moves.size(); ++i) bowl.weights()[i].copy_(before[i]);
  return gradients;
}

Tensors sam_moves(const Bowl& bowl, double radius, bool adaptive) {
  const auto gradients = torch::autograd::grad({bowl.loss()}, bowl.weights());
  const torch::NoGradGuard no_grad;
  Tensors stretches;
  double squared = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    stretches.push_back(adaptive ? bowl.weights()[i].abs() + 0.01 : torch::ones_like(gradients[i]));
    squared += (stretches[i] * gradients[i]).square().sum().item<double>();
  }
  Tensors moves;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    moves.push_back(radius * stretches[i].square() * gradients[i] / std::sqrt(squared));
  return moves;
}

// r·u, u the first direction of this step, over all weights together.
Tensors smoothing_moves(double radius, std::uint64_t seed, int step) {
  std::vector<double> z(24);
  for (std::size_t e = 0; e < z.size(); ++e)
    z[e] = kernels::normal_element<double>({seed, static_cast<std::uint64_t>(step), 0}, e);
  auto all = torch::tensor(z, torch::kDouble);
  all = radius * all / all.norm();
  return {all.narrow(0, 0, 20).view({5, 4}), all.narrow(0, 20, 4)};
}

template <class Optimizer, class Options>
void expect_the_trajectory(const Options& options, const Rule& rule,
                           const std::function<void(const Tensors&, Tensors&, Tensors&, int)>& update) {
  Bowl ours;
  Bowl plain;
  Optimizer optimizer(ours.weights(), options);
  Tensors m;
  Tensors v;
  for (const auto& w : plain.weights()) m.push_back(torch::zeros_like(w)), v.push_back(torch::zeros_like(w));
  for (int step = 0; step < 40; ++step) {
    const auto at = options.gradient_at() == GradientAt::nearby;
    const auto moves = rule(plain, step);
    double expected_loss = plain.loss().template item<double>();
    if (at) {
      Bowl there;
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < moves.size(); ++i) there.weights()[i].copy_(plain.weights()[i] + moves[i]);
      expected_loss = there.loss().template item<double>();
    }
    const auto gradients = gradient_after(plain, moves);
    for (std::size_t i = 0; i < m.size(); ++i) {
      const torch::NoGradGuard no_grad;
      Tensors state = {m[i], v[i]};
      auto w = plain.weights()[i];
      Tensors weights = {w};
      update({gradients[i]}, weights, state, step + 1);
    }
    const auto loss = optimizer.step([&] { return ours.loss(); });
    EXPECT_NEAR(expected_loss, loss.template item<double>(), 1e-12);
    EXPECT_EQ(loss.template item<double>(), optimizer.summary().loss);
    for (std::size_t i = 0; i < m.size(); ++i)
      ASSERT_LT((ours.weights()[i] - plain.weights()[i]).abs().max().template item<double>(), 1e-12)
          << "step " << step;
  }
}

void plain_adamw(const Tensors& gradient, Tensors& weights, Tensors& state, int t) {
  const auto& g = gradient[0];
  state[0].mul_(0.9).add_(0.1 * g);
  state[1].mul_(0.999).add_(0.001 * g.square());
  const auto root = (state[1] / (1 - std::pow(0.999, t))).sqrt() + 1e-8;
  weights[0].mul_(1 - 0.02 * 0.01).sub_(0.02 / (1 - std::pow(0.9, t)) * state[0] / root);
}

void plain_sgd(const Tensors& gradient, Tensors& weights, Tensors& state, int) {
  state[0].mul_(0.9).add_(gradient[0]);
  weights[0].sub_(0.05 * state[0]);
}

TEST(GradientAt, AscentIsSamInFloat64) {
  const Rule rule = [](const Bowl& bowl, int) { return sam_moves(bowl, 0.3, false); };
  expect_the_trajectory<AdamW>(AdamWOptions(0.02).gradient_at(GradientAt::ascent).gradient_radius(0.3), rule,
                               plain_adamw);
  expect_the_trajectory<ProxSGD>(
      ProxSGDOptions(0.05).l1(0).gradient_at(GradientAt::ascent).gradient_radius(0.3), rule, plain_sgd);
}

TEST(GradientAt, AdaptiveAscentIsAsamInFloat64) {
  const Rule rule = [](const Bowl& bowl, int) { return sam_moves(bowl, 0.8, true); };
  expect_the_trajectory<AdamW>(
      AdamWOptions(0.02).gradient_at(GradientAt::adaptive_ascent).gradient_radius(0.8), rule, plain_adamw);
  expect_the_trajectory<ProxSGD>(
      ProxSGDOptions(0.05).l1(0).gradient_at(GradientAt::adaptive_ascent).gradient_radius(0.8), rule,
      plain_sgd);
}

TEST(GradientAt, NearbyIsRandomizedSmoothingInFloat64) {
  const Rule rule = [](const Bowl&, int step) { return smoothing_moves(0.4, 17, step); };
  expect_the_trajectory<AdamW>(
      AdamWOptions(0.02).gradient_at(GradientAt::nearby).gradient_radius(0.4).seed(17), rule, plain_adamw);
  expect_the_trajectory<ProxSGD>(
      ProxSGDOptions(0.05).l1(0).gradient_at(GradientAt::nearby).gradient_radius(0.4).seed(17), rule,
      plain_sgd);
}

// Without a step the weights stay, in any layout and both types.
TEST(GradientAt, WeightsComeBackBitForBit) {
  for (const auto place : kElsewhere) {
    torch::manual_seed(3);
    auto wide = torch::randn({4, 3, 5, 10});
    Tensors weights = {torch::randn({7, 9}),
                       torch::randn({4, 3, 5, 5}).contiguous(torch::MemoryFormat::ChannelsLast),
                       wide.slice(3, 0, 10, 2), torch::randn({33}, torch::kDouble)};
    for (auto& w : weights) w = w.detach().set_requires_grad(true);
    const auto before = copies(weights);
    const auto gaps = wide.clone();
    AdamW optimizer(weights, AdamWOptions(0).gradient_at(place).gradient_radius(0.9));
    Tensors seen;
    for (int step = 0; step < 2; ++step)
      optimizer.step([&] {
        torch::Tensor sum = torch::zeros({}, torch::kDouble);
        for (const auto& w : weights) sum = sum + w.pow(4).sum().to(torch::kDouble);
        seen.push_back(weights[2].detach().clone());
        return sum;
      });
    expect_same_bits(before, weights);
    expect_same_bits({gaps}, {wide});
    EXPECT_FALSE(torch::equal(seen.back(), before[2])) << "they never moved";
    EXPECT_EQ(2, optimizer.totals().steps);
  }
}

// The radius is that of all weights together.
TEST(GradientAt, MovesAsFarAsTheRadius) {
  for (const auto place : {GradientAt::ascent, GradientAt::nearby}) {
    auto a = torch::randn({50}).set_requires_grad(true);
    auto b = torch::randn({30}, torch::kDouble).set_requires_grad(true);
    const auto start = copies({a, b});
    AdamW optimizer({a, b}, AdamWOptions(0).gradient_at(place).gradient_radius(0.25));
    double distance = 0;
    optimizer.step([&] {
      distance = std::sqrt((a.detach() - start[0]).square().sum().item<double>() +
                           (b.detach() - start[1]).square().sum().item<double>());
      return a.square().sum().to(torch::kDouble) + b.square().sum();
    });
    EXPECT_NEAR(0.25, distance, 1e-6) << to_string(place);
  }
}

// The same masks, and buffers and generator as the evaluation at the weights left them.
TEST(GradientAt, BothEvaluationsAreOfOneFunction) {
  torch::manual_seed(1);
  const Batch batch;
  const auto train = [&](GradientAt place) {
    torch::manual_seed(8);
    NoisyNet net;
    AdamW optimizer(*net, AdamWOptions(0).gradient_at(place).gradient_radius(1e-6));
    const CapturedWarnings warnings;
    Tensors left;
    for (int step = 0; step < 3; ++step) {
      net->masks.clear();
      optimizer.step([&] { return loss_of(net, batch); });
      const bool again = place == GradientAt::ascent || place == GradientAt::adaptive_ascent;
      EXPECT_EQ(!again ? 1u : step == 0 ? 3u : 2u, net->masks.size()) << "the first step is checked";
      for (const auto& mask : net->masks) EXPECT_TRUE(torch::equal(mask, net->masks[0]));
      left.push_back(net->masks[0]);
    }
    EXPECT_TRUE(warnings.sentences().empty()) << warnings.sentences().front();
    EXPECT_FALSE(torch::equal(left[0], left[1])) << "every step has its own";
    EXPECT_EQ(3, net->norm->num_batches_tracked.item<std::int64_t>());
    for (const auto& buffer : copies(net->buffers())) left.push_back(buffer);
    left.push_back(generator_state());
    return left;
  };
  const auto plain = train(GradientAt::weights);
  expect_same_bits(plain, train(GradientAt::ascent));
  expect_same_bits(plain, train(GradientAt::adaptive_ascent));
}

TEST(GradientAt, AClosureThatIsNotOneFunctionIsWarnedOf) {
  auto w = torch::ones({3}).set_requires_grad(true);
  AdamW optimizer({w}, AdamWOptions(0.1).gradient_at(GradientAt::ascent));
  const CapturedWarnings warnings;
  int calls = 0;
  for (int step = 0; step < 2; ++step) optimizer.step([&] { return (w * ++calls).sum(); });
  EXPECT_EQ(1u, warnings.count("are not those of one function"));
}

TEST(GradientAt, WhateverIsThrownEverythingIsAsBeforeTheStep) {
  const Batch batch;
  for (const auto place : kElsewhere) {
    const bool again = place != GradientAt::nearby;
    NoisyNet nets[2];
    torch::manual_seed(5);
    nets[0] = NoisyNet();
    torch::manual_seed(5);
    nets[1] = NoisyNet();
    for (const bool fails : {false, true}) {
      auto& net = nets[fails];
      torch::manual_seed(6);
      AdamW optimizer(*net, AdamWOptions(0.01).gradient_at(place));
      for (int step = 0; step < 3; ++step) {
        if (fails) {
          auto before = copies(net->parameters());
          for (const auto& buffer : copies(net->buffers())) before.push_back(buffer);
          before.push_back(generator_state());
          int calls = 0;
          const int last = !again ? 1 : step == 0 ? 3 : 2;
          EXPECT_THROW(optimizer.step([&] {
            const auto loss = loss_of(net, batch);
            if (++calls == last) throw std::runtime_error("no");
            return loss;
          }),
                       std::runtime_error);
          EXPECT_EQ(last, calls);
          Tensors after = net->parameters();
          for (const auto& buffer : net->buffers()) after.push_back(buffer);
          after.push_back(generator_state());
          expect_same_bits(before, after);
          EXPECT_FALSE(net->first->weight.grad().defined());
        }
        optimizer.step([&] { return loss_of(net, batch); });
      }
    }
    expect_same_bits(nets[0]->parameters(), nets[1]->parameters());
    expect_same_bits(nets[0]->buffers(), nets[1]->buffers());
  }
}

TEST(GradientAt, WhatIsNotFiniteIsSkipped) {
  const double nan = std::nan("");
  for (const auto place : {GradientAt::ascent, GradientAt::adaptive_ascent}) {
    auto w = torch::full({3}, 2.0).set_requires_grad(true);
    AdamW optimizer({w}, AdamWOptions(0.1).gradient_at(place));
    const auto f = [&] { return w.square().sum(); };
    optimizer.step(f);
    const auto before = w.detach().clone();
    int calls = 0;
    optimizer.step([&] { return ++calls == 2 ? f() + nan : f(); });  // its gradient is finite
    EXPECT_EQ(2, calls);
    EXPECT_TRUE(optimizer.summary().skipped);
    EXPECT_EQ(1, optimizer.summary().non_finite_loss);
    calls = 0;
    optimizer.step([&] {
      auto kept = w * 1;
      if (++calls == 2) kept.register_hook([&](torch::Tensor g) { return g * nan; });
      return kept.square().sum();
    });
    EXPECT_TRUE(optimizer.summary().skipped);
    EXPECT_EQ(0, optimizer.summary().non_finite_loss);
    EXPECT_EQ(3, optimizer.summary().non_finite_gradient);
    calls = 0;
    optimizer.step([&] { return ++calls, f() * nan; });
    EXPECT_EQ(1, calls) << "evaluated again in vain";
    EXPECT_TRUE(optimizer.summary().skipped);
    expect_same_bits({before}, {w});
    EXPECT_EQ(3, optimizer.totals().skipped);
    optimizer.step(f);
    EXPECT_FALSE(optimizer.summary().skipped);
  }
}

TEST(GradientAt, ClippingSeesTheGradientThatIsUsed) {
  Bowl bowl;
  const auto expected = gradient_after(bowl, sam_moves(bowl, 0.3, false));
  AdamW optimizer(bowl.weights(), AdamWOptions(0.02).gradient_at(GradientAt::ascent).gradient_radius(0.3));
  StepRequest request;
  request.parts = {[&] { return bowl.loss(); }};
  int calls = 0;
  request.before_update = [&] {
    ++calls;
    EXPECT_TRUE(torch::allclose(bowl.a.grad(), expected[0], 1e-12, 1e-14));
    EXPECT_TRUE(torch::allclose(bowl.b.grad(), expected[1], 1e-12, 1e-14));
    bowl.a.mutable_grad().zero_();
  };
  const auto a = bowl.a.detach().clone();
  optimizer.param_groups()[0].options().set_lr(0.02);
  static_cast<AdamWOptions&>(optimizer.param_groups()[0].options()).weight_decay(0);
  optimizer.step(request);
  EXPECT_EQ(1, calls);
  EXPECT_TRUE(torch::equal(a, bowl.a)) << "what was clipped to nothing moved";
}

TEST(GradientAt, ResumesBitForBit) {
  for (const auto place : kElsewhere) {
    const auto options = AdamWOptions(0.02).gradient_at(place).gradient_radius(0.2).seed(4).final_ratio(10);
    Bowl whole;
    AdamW uninterrupted(whole.weights(), options);
    for (int i = 0; i < 4; ++i) uninterrupted.step([&] { return whole.loss(); });
    std::stringstream file;
    torch::save(uninterrupted, file);
    Bowl later;
    for (std::size_t i = 0; i < 2; ++i) later.weights()[i].set_data(whole.weights()[i].detach().clone());
    AdamW resumed(later.weights(), AdamWOptions(1));
    torch::load(resumed, file);
    for (int i = 0; i < 4; ++i) {
      uninterrupted.step([&] { return whole.loss(); });
      resumed.step([&] { return later.loss(); });
    }
    expect_same_bits(whole.weights(), later.weights());
  }
}

TEST(GradientAt, RefusesWhatCannotBe) {
  auto a = torch::ones({2}).set_requires_grad(true);
  auto b = torch::ones({2}).set_requires_grad(true);
  AdamW optimizer({a}, AdamWOptions().gradient_at(GradientAt::ascent));
  a.mutable_grad() = torch::ones({2});
  expect_refused([&] { optimizer.step(); }, {"AdamW::step", "'ascent'", "closure"});
  const auto once = a.square().sum();
  expect_refused([&] { optimizer.step([&] { return once; }); }, {"the same tensor twice"});
  expect_refused([&] { AdamW({b}, AdamWOptions().gradient_radius(0)); }, {"gradient_radius", "above 0"});
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(Tensors{a});
  groups.emplace_back(Tensors{b}, std::make_unique<AdamWOptions>(AdamWOptions().gradient_radius(1)));
  expect_refused([&] { AdamW(groups, AdamWOptions()); }, {"group 1", "gradient_radius", "the optimizer"});
  groups[1].set_options(std::make_unique<AdamWOptions>(AdamWOptions(0.5)));  // says nothing of it
  EXPECT_NO_THROW(AdamW(groups, AdamWOptions().gradient_at(GradientAt::nearby)));
}

}  // namespace
}  // namespace sadam
