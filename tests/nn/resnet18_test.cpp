#include "nn/resnet18.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "nn/load_weights.h"
#include "nn/weights/tensor_file.h"
#include "support/models.h"

namespace sadam::nn {
namespace {

using namespace sadam::testing;
using nlohmann::json;

// What fixtures/make_resnet18.py computed in numpy, in float64.
json recorded(const std::string& name) {
  std::ifstream file("fixtures/" + name);
  if (!file) throw std::runtime_error("there is no fixtures/" + name + " here: run this test in tests/nn");
  return json::parse(file);
}

torch::Tensor matrix(const json& rows) {
  std::vector<torch::Tensor> tensors;
  for (const auto& row : rows) {
    tensors.push_back(torch::tensor(row.get<std::vector<double>>(), torch::kDouble));
  }
  return torch::stack(tensors);
}

/// The formula of make_resnet18.py: multiples of 2⁻²⁰ in [−0.5, 0.5), a hash of (tensor, element).
torch::Tensor hashed(std::uint64_t tensor, at::IntArrayRef shape) {
  auto values = torch::empty(shape, torch::kDouble);
  auto* elements = values.data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    std::uint64_t h = ((tensor << 32U) + static_cast<std::uint64_t>(i)) * 0x9E3779B97F4A7C15U;
    h ^= h >> 32U;
    h *= 0xD6E8FEB86659FD93U;
    h ^= h >> 32U;
    elements[i] = static_cast<double>(h >> 44U) / 0x1p20 - 0.5;
  }
  return values;
}

torch::Tensor formula_images(const json& shape) {
  return 4 * hashed(1000, shape.get<std::vector<std::int64_t>>());
}

torch::OrderedDict<std::string, torch::Tensor> state_of(ResNet18& net) {
  auto state = net->named_parameters();
  state.update(net->named_buffers());
  return state;
}

void set_formula_weights(ResNet18& net, const json& tensors) {
  const torch::NoGradGuard no_graph;
  auto state = state_of(net);
  std::uint64_t index = 0;
  for (const auto& entry : tensors) {
    const auto name = entry[0].get<std::string>();
    const auto ends_with = [&](const char* end) { return name.ends_with(end); };
    auto& target = state[name];
    if (!ends_with("num_batches_tracked")) {
      auto values = hashed(index, target.sizes());
      if (target.dim() > 1) {
        const auto fan_in = static_cast<double>(target[0].numel());
        values *= std::exp2(std::round(std::log2(std::sqrt(24 / fan_in))));
      } else if (ends_with(".running_var") || ends_with(".weight")) {
        values += 1;
      }
      target.copy_(values);
    }
    ++index;
  }
}

double largest_difference(const torch::Tensor& actual, const torch::Tensor& expected) {
  return (actual.to(torch::kDouble) - expected).abs().max().item<double>();
}

void expect_recorded_outputs(torch::ScalarType type, double allowed) {
  const auto record = recorded("resnet18.json");
  ResNet18 net(ResNet18Options{.classes = 10});
  net->to(type);
  set_formula_weights(net, record["tensors"]);
  const auto buffers_before = copies(net->buffers());
  for (const auto& c : record["cases"]) {
    SCOPED_TRACE(c["images"].dump() + (c["training"].get<bool>() ? ", training" : ", evaluation"));
    for (std::size_t i = 0; i < buffers_before.size(); ++i) net->buffers()[i].copy_(buffers_before[i]);
    net->train(c["training"].get<bool>());
    const auto expected = matrix(c["logits"]);
    const auto scale = std::max(1.0, expected.abs().max().item<double>());
    const auto logits = net->forward(formula_images(c["images"]).to(type));
    ASSERT_EQ(expected.sizes(), logits.sizes());
    EXPECT_LE(largest_difference(logits, expected), allowed * scale);
    if (!c["training"].get<bool>()) continue;
    const auto buffers = net->named_buffers();
    for (const auto& [name, numbers] : c["running_statistics"].items()) {
      const auto values = buffers[name].to(torch::kDouble);
      const auto actual = torch::stack({values.sum(), values[-1]});
      const auto sum_and_last = torch::tensor(numbers.get<std::vector<double>>(), torch::kDouble);
      const auto size = std::max(1.0, values.abs().sum().item<double>());
      EXPECT_LE(largest_difference(actual, sum_and_last), allowed * size) << name;
    }
    EXPECT_EQ(1, buffers["layer4.1.bn2.num_batches_tracked"].item<std::int64_t>());
  }
}

TEST(ResNet18, HasTheNamesAndShapesOfTorchvision) {
  ResNet18 net(ResNet18Options{.classes = 10});
  EXPECT_EQ(62U, net->named_parameters().size());
  EXPECT_EQ(60U, net->named_buffers().size());
  std::set<std::pair<std::string, std::vector<std::int64_t>>> expected;
  std::set<std::pair<std::string, std::vector<std::int64_t>>> actual;
  const auto record = recorded("resnet18.json");
  for (const auto& tensor : record["tensors"]) {
    expected.emplace(tensor[0].get<std::string>(), tensor[1].get<std::vector<std::int64_t>>());
  }
  for (const auto& tensor : state_of(net)) actual.emplace(tensor.key(), tensor.value().sizes().vec());
  EXPECT_EQ(expected, actual);
}

TEST(ResNet18, HasAsManyParametersAsTorchvisionCounts) {
  const ResNet18 net;
  std::int64_t count = 0;
  for (const auto& parameter : net->parameters()) count += parameter.numel();
  EXPECT_EQ(11689512, count);
}

TEST(ResNet18, OutputsAreTheRecordedOnesInFloat64) { expect_recorded_outputs(torch::kDouble, 1e-10); }

TEST(ResNet18, OutputsAreTheRecordedOnesInFloat32) { expect_recorded_outputs(torch::kFloat, 1e-4); }

TEST(ResNet18, OutputsWithTrainedWeightsAreTheRecordedOnes) {
  const char* given = std::getenv("SADAM_TEST_DATA");
  const auto path =
      std::filesystem::path(given ? given : "../../data") / "resnet18-tinyimagenet-f16.safetensors";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no " << path << " here (SADAM_TEST_DATA is not its folder)";
  const auto record = recorded("resnet18_trained.json");
  const auto images = formula_images(record["images"]);
  ResNet18 net(ResNet18Options{.classes = 200});
  net->eval();
  load_weights(*net, weights::read_weights(path));
  for (const auto& [type, allowed] : {std::pair(torch::kFloat, 1e-4), std::pair(torch::kDouble, 1e-10)}) {
    net->to(type);
    const auto difference = largest_difference(net->forward(images.to(type)), matrix(record["logits"]));
    EXPECT_LE(difference, allowed);
    std::ostringstream text;
    text << difference;
    RecordProperty(type == torch::kFloat ? "float32" : "float64", text.str());
  }
}

TEST(ResNet18, StartsAsTorchvisionDoes) {
  ResNet18 net(ResNet18Options{.classes = 100});
  for (const auto& parameter : net->named_parameters()) {
    SCOPED_TRACE(parameter.key());
    const auto values = parameter.value().detach();
    if (values.dim() == 4) {
      const auto deviation = std::sqrt(2.0 / static_cast<double>(values.numel() / values.size(1)));
      EXPECT_NEAR(1, values.std().item<double>() / deviation, 0.05);
      EXPECT_NEAR(0, values.mean().item<double>() / deviation, 0.05);
      EXPECT_GT(values.abs().max().item<double>(), 3 * deviation) << "not normal";
    } else if (parameter.key().starts_with("fc.")) {
      const auto bound = 1 / std::sqrt(512.0);
      EXPECT_LE(values.abs().max().item<double>(), bound);
      EXPECT_GE(values.abs().max().item<double>(), 0.9 * bound);
    } else {
      EXPECT_TRUE(values.eq(parameter.key().ends_with("weight") ? 1 : 0).all().item<bool>());
    }
  }
}

TEST(ResNet18, EveryParameterGetsAGradient) {
  ResNet18 net(ResNet18Options{.classes = 10});
  net->forward(torch::randn({2, 3, 40, 40})).square().sum().backward();
  for (const auto& parameter : net->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().sum().item<double>(), 0) << parameter.key();
  }
}

// The forward pass works in place, which must not reach what a gradient needs.
TEST(ResNet18, GradientIsTheSlopeOfTheLoss) {
  ResNet18 net(ResNet18Options{.classes = 4});
  net->to(torch::kDouble);
  const auto images = torch::randn({3, 3, 33, 33}, torch::kDouble);
  const auto pull = torch::randn({3, 4}, torch::kDouble);
  const auto loss = [&] { return (net->forward(images) * pull).sum(); };
  loss().backward();
  double slope = 0;
  std::vector<torch::Tensor> directions;
  for (const auto& parameter : net->parameters()) {
    directions.push_back(torch::randn_like(parameter) * 1e-2);
    slope += (parameter.grad() * directions.back()).sum().item<double>();
  }
  const torch::NoGradGuard no_graph;
  const auto loss_at = [&](double distance) {
    const auto parameters = net->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].add_(directions[i], distance);
    const auto value = loss().item<double>();
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].sub_(directions[i], distance);
    return value;
  };
  // No longer, or some of the many ReLUs have a kink on the way.
  const double h = 1e-8;
  EXPECT_NEAR(slope, (loss_at(h) - loss_at(-h)) / (2 * h), 1e-5 * std::abs(slope));
}

TEST(ResNet18, TakesImagesOfAnySize) {
  ResNet18 net(ResNet18Options{.classes = 7});
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{2, 3, 1, 1}, {2, 3, 32, 32}, {1, 3, 33, 20}, {1, 3, 100, 160}}) {
    EXPECT_EQ(net->forward(torch::randn(shape)).sizes(), torch::IntArrayRef({shape[0], 7}));
  }
  net->eval();
  EXPECT_EQ(net->forward(torch::randn({1, 3, 32, 32})).sizes(), torch::IntArrayRef({1, 7}));
  EXPECT_EQ(net->forward(torch::randn({0, 3, 32, 32})).sizes(), torch::IntArrayRef({0, 7}));
}

TEST(ResNet18, RefusesWhatItCannotDo) {
  expect_refused([] { ResNet18(ResNet18Options{.classes = 0}); }, {"0 classes", "at least 1"});
}

}  // namespace
}  // namespace sadam::nn
