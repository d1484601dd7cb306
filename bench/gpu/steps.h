// Steps of the GPU's tables: networks, and the optimizers that train them.
#pragma once

#include <sadam/graphed_step.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sadam::bench {

/// What is trained: how to make the network, its loss, and a batch.
struct Workload {
  std::string name;
  std::function<std::shared_ptr<torch::nn::Module>()> make;
  std::function<torch::Tensor(torch::nn::Module&, const GraphedStep::Inputs&)> loss;
  GraphedStep::Inputs batch;
};
Workload resnet(std::int64_t batch);
Workload qat_net();

/// Steps of one kind. Both members share what the steps need.
struct Runner {
  std::function<void()> step;
  std::shared_ptr<void> holds;
};

struct Row {
  std::string name;
  std::function<Runner(const Workload&)> make;
};

/// AdamW and S-Adam, eager and captured.
std::vector<Row> optimizer_rows();
/// S-Adam with so many probes on so many streams.
std::vector<Row> stream_rows();

/// Makes a row's runner, which has then taken its first steps.
Runner warm(const Row& row, const Workload& work);

}  // namespace sadam::bench
