// Trajectories recorded elsewhere, in float64, reproduced step by step.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/models.h"

namespace sadam {
namespace {

using nlohmann::json;

torch::Tensor tensor_of(const json& values, at::IntArrayRef shape) {
  return torch::tensor(values.get<std::vector<double>>(), torch::kDouble).reshape(shape);
}

// One recorded run: the network Linear(4,5), ReLU, Linear(5,3) with mean cross-entropy, its data and its
// steps.
struct Golden {
  explicit Golden(const std::string& name) {
    std::ifstream file("goldens/" + name + ".json");
    if (!file)
      throw std::runtime_error("there is no goldens/" + name + ".json here: run this test in tests/optim");
    file >> record;
    for (std::size_t i = 0; i < 4; ++i) {
      shapes.push_back(record["parameter_shapes"][i].get<std::vector<std::int64_t>>());
      parameters.push_back(tensor_of(record["initial_parameters"][i], shapes[i]).set_requires_grad(true));
    }
    std::vector<torch::Tensor> rows;
    for (const auto& row : record["inputs"]) rows.push_back(tensor_of(row, {4}));
    inputs = torch::stack(rows);
    targets = torch::tensor(record["targets"].get<std::vector<std::int64_t>>());
  }

  torch::Tensor loss() const {
    namespace F = torch::nn::functional;
    const auto hidden = torch::relu(F::linear(inputs, parameters[0], parameters[1]));
    return F::cross_entropy(F::linear(hidden, parameters[2], parameters[3]), targets);
  }

  void expect_parameters_of_step(std::size_t step) const {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto expected = tensor_of(record["steps"][step]["parameters"][i], shapes[i]);
      const auto allowed = 1e-12 * expected.abs().clamp_min(1);
      EXPECT_TRUE(((parameters[i] - expected).abs() <= allowed).all().item<bool>())
          << "parameter " << i << " after step " << step;
    }
  }

  json record;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<torch::Tensor> parameters;
  torch::Tensor inputs;
  torch::Tensor targets;
};

class ReferenceGolden : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Recorded, ReferenceGolden,
                         ::testing::Values("sadam_reference_k1", "sadam_reference_k2", "sadam_reference_k8"),
                         [](const auto& name) { return std::string(name.param).substr(16); });

TEST_P(ReferenceGolden, IsReproducedThroughTheDirectionSource) {
  Golden golden(GetParam());
  const auto& recorded = golden.record["options"];
  auto options = SAdamOptions::reference(recorded["lr"].get<double>());
  options.betas({recorded["betas"][0].get<double>(), recorded["betas"][1].get<double>()})
      .eps(recorded["eps"].get<double>())
      .weight_decay(recorded["weight_decay"].get<double>())
      .damping(recorded["lam"].get<double>());
  options.probes(recorded["k"].get<std::int64_t>())
      .radius(recorded["delta"].get<double>())
      .lgi_eps(recorded["lgi_eps"].get<double>())
      .cap(recorded["cap"].get<double>())
      .source([&](const DirectionRequest& request) {
        const auto& step = golden.record["steps"][static_cast<std::size_t>(request.step)];
        const auto parameter = static_cast<std::size_t>(request.parameter);
        return tensor_of(step["directions"][static_cast<std::size_t>(request.probe) * 4 + parameter],
                         golden.shapes[parameter]);
      });
  SAdam optimizer(golden.parameters, options);
  const auto& steps = golden.record["steps"];
  ASSERT_GE(steps.size(), 6u);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const auto loss = optimizer.step([&] { return golden.loss(); });
    EXPECT_NEAR(steps[step]["base_loss"].get<double>(), loss.item<double>(), 1e-12);
    EXPECT_NEAR(steps[step]["last_group_lgi"].get<double>(), optimizer.summary().lgi, 1e-9);
    golden.expect_parameters_of_step(step);
  }
}

TEST(ProxSgdGolden, IsReproduced) {
  Golden golden("prox_sgd");
  const auto& recorded = golden.record["options"];
  ProxSGD optimizer(golden.parameters, ProxSGDOptions(recorded["lr"].get<double>())
                                           .momentum(recorded["momentum"].get<double>())
                                           .l1(recorded["l1"].get<double>()));
  const auto& steps = golden.record["steps"];
  ASSERT_GE(steps.size(), 6u);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const auto loss = optimizer.step([&] { return golden.loss(); });
    EXPECT_NEAR(steps[step]["loss"].get<double>(), loss.item<double>(), 1e-12);
    golden.expect_parameters_of_step(step);
  }
}

}  // namespace
}  // namespace sadam
