// One header is enough, and a model is given as a user has it.
#include <sadam/sadam.h>

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl() : layer(register_module("layer", torch::nn::Linear(2, 1))) {}
  torch::Tensor forward(const torch::Tensor& x) { return layer(x); }
  torch::nn::Linear layer;
};
TORCH_MODULE(Net);

template <class Optimizer, class Model>
bool trains(Model& model) {
  Optimizer optimizer(model, 0.1);
  const auto x = torch::ones({4, 2});
  const auto loss = [&] { return model->forward(x).square().mean(); };
  const auto before = optimizer.step(loss).template item<double>();
  for (int i = 0; i < 20; ++i) optimizer.step(loss);
  return loss().template item<double>() < before && optimizer.totals().steps == 21;
}

template <class Optimizer>
bool trains_every_kind() {
  torch::nn::Sequential sequential(torch::nn::Linear(2, 3), torch::nn::ReLU(), torch::nn::Linear(3, 1));
  torch::nn::Linear linear(2, 1);
  Net net;
  return trains<Optimizer>(sequential) && trains<Optimizer>(linear) && trains<Optimizer>(net);
}

}  // namespace

int main() {
  torch::manual_seed(1);
  const bool all = trains_every_kind<sadam::SAdam>() && trains_every_kind<sadam::AdamW>() &&
                   trains_every_kind<sadam::ProxSGD>();
  return all ? 0 : 1;
}
