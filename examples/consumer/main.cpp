// Fits a line's worth of ReLUs to |x| with S-Adam, from outside the library's own tree.
#include <sadam/sadam.h>
#include <torch/torch.h>

#include <cstdio>

int main() {
  torch::manual_seed(1);
  const auto x = torch::linspace(-2, 2, 64).unsqueeze(1);
  const auto y = x.abs();
  torch::nn::Sequential model(torch::nn::Linear(1, 16), torch::nn::ReLU(), torch::nn::Linear(16, 1));

  sadam::SAdam optimizer(*model, sadam::SAdamOptions(1e-2).probes(2).radius(0.01).damping(2.0));
  const auto loss = [&] { return torch::mse_loss(model->forward(x), y); };

  const double before = loss().item<double>();
  for (int step = 0; step < 200; ++step) optimizer.step(loss);
  const double after = loss().item<double>();

  std::printf("sadam %s: loss %.4f before, %.4f after\n", SADAM_VERSION, before, after);
  return after < 0.1 * before ? 0 : 1;
}
