// The C++ side of test_same_numbers.py: trains the network that Python trains, and leaves what became of it.
// Compiled with the programs of the pages (tests/readme), and called as `page_examples twin ...`:
//
//   twin train STEPS FOLDER KIND...    writes FOLDER/KIND/weights.pt and FOLDER/KIND/optimizer.pt
//   twin resume STEPS FOLDER KIND...   the same number of steps, then a new optimizer that loads
//                                      FOLDER/KIND/python.pt, then as many again; writes
//                                      FOLDER/KIND/resumed.pt
// KIND is sadam, held, adamw or prox.
#include <sadam/sadam.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

namespace twin {

torch::nn::Sequential make_network() {
  torch::manual_seed(2);
  const torch::nn::Linear first(6, 8);  // in this order, as they draw their weights; arguments may be in any
  const torch::nn::Linear last(8, 3);
  return torch::nn::Sequential(first, torch::nn::BatchNorm1d(8), torch::nn::ReLU(), torch::nn::Dropout(0.5),
                               last);
}

std::unique_ptr<sadam::Optimizer> make_optimizer(const std::string& kind,
                                                 const torch::nn::Sequential& network) {
  using sadam::SAdamOptions;
  if (kind == "adamw") return std::make_unique<sadam::AdamW>(network, sadam::AdamWOptions(0.01));
  if (kind == "prox") return std::make_unique<sadam::ProxSGD>(network, sadam::ProxSGDOptions(0.01));
  auto options = SAdamOptions(0.01).probes(3).seed(7);
  if (kind == "held")
    options.directions(sadam::Directions::step)
        .statistic(sadam::Statistic::residual)
        .brake(sadam::Brake::held)
        .target(0.3);
  return std::make_unique<sadam::SAdam>(network, options);
}

void write(const torch::nn::Sequential& network, const std::string& path) {
  std::vector<torch::Tensor> tensors = network->parameters();
  for (const auto& buffer : network->buffers()) tensors.push_back(buffer);
  for (auto& tensor : tensors) tensor = tensor.detach();
  torch::save(tensors, path);
}

void run(const std::string& what, const std::string& kind, int steps, const std::string& folder) {
  auto network = make_network();
  torch::manual_seed(4);
  const auto x = torch::randn({16, 6});
  const auto y = torch::randint(0, 3, {16}, torch::kLong);
  auto optimizer = make_optimizer(kind, network);
  const auto train = [&] {
    for (int i = 0; i < steps; ++i)
      optimizer->step([&] { return torch::nn::functional::cross_entropy(network->forward(x), y); });
  };
  torch::manual_seed(5);
  train();
  if (what == "train") {
    write(network, folder + "/weights.pt");
    torch::save(*optimizer, folder + "/optimizer.pt");
    return;
  }
  optimizer = make_optimizer(kind, network);
  torch::load(*optimizer, folder + "/python.pt");
  train();
  write(network, folder + "/resumed.pt");
}

int the_main(int count, char** arguments) {
  if (count < 5) return std::cerr << "twin train|resume STEPS FOLDER KIND...\n", EXIT_FAILURE;
  for (int i = 4; i < count; ++i)
    run(arguments[1], arguments[i], std::atoi(arguments[2]), std::string(arguments[3]) + "/" + arguments[i]);
  return EXIT_SUCCESS;
}

}  // namespace twin
