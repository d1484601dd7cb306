#include "gpu/steps.h"

#include <c10/cuda/CUDAFunctions.h>
#include <sadam/sadam.h>
#include <torch/torch.h>

#include <algorithm>

#include "nn/qat_net.h"
#include "nn/resnet18.h"

namespace sadam::bench {
namespace {

using Batch = GraphedStep::Inputs;

const std::string kTorchAdamW = "torch AdamW, eager";

torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::nn::functional::cross_entropy(logits.to(torch::kDouble), labels);
}

Batch random_batch(std::int64_t size, std::int64_t pixels) {
  torch::manual_seed(1);
  return {torch::randn({size, 3, pixels, pixels}).to(torch::kCUDA),
          torch::randint(100, {size}, torch::kLong).to(torch::kCUDA)};
}

Runner torch_adamw(const Workload& work) {
  struct Holds {
    std::shared_ptr<torch::nn::Module> net;
    std::unique_ptr<torch::optim::AdamW> optimizer;
  };
  auto holds = std::make_shared<Holds>();
  holds->net = work.make();
  holds->optimizer = std::make_unique<torch::optim::AdamW>(holds->net->parameters(), 1e-3);
  return {[holds, work] {
            holds->optimizer->zero_grad();
            work.loss(*holds->net, work.batch).backward();
            holds->optimizer->step();
          },
          holds};
}

template <class Optimizer, class Options>
Row steps_of(const std::string& name, const Options& options, const GraphOptions& graph,
             std::int64_t part_of_batch = 1) {
  return {
      name, [=](const Workload& work) {
        struct Holds {
          std::shared_ptr<torch::nn::Module> net;
          std::unique_ptr<Optimizer> optimizer;
          std::unique_ptr<GraphedStep> step;
        };
        auto holds = std::make_shared<Holds>();
        holds->net = work.make();
        holds->optimizer = std::make_unique<Optimizer>(*holds->net, options);
        holds->step = std::make_unique<GraphedStep>(holds->net, *holds->optimizer, work.loss, graph);
        if (part_of_batch > 1)
          holds->step->probe_with([net = holds->net.get(), work, part_of_batch](const Batch& batch) {
            Batch part;
            for (const auto& tensor : batch)
              part.push_back(tensor.narrow(0, 0, std::max<std::int64_t>(tensor.size(0) / part_of_batch, 1)));
            return work.loss(*net, part);
          });
        (*holds->step)(work.batch);
        if (graph.capture() && !holds->step->is_captured())
          throw Error(name + " of " + work.name + " was not captured: " + holds->step->why_not());
        return Runner{[holds, work] { (*holds->step)(work.batch); }, holds};
      }};
}

}  // namespace

Workload resnet(std::int64_t batch) {
  return {"ResNet-18, 224 px, 100 classes, batch " + std::to_string(batch),
          [] {
            auto net = nn::ResNet18(nn::ResNet18Options{100});
            net->to(torch::kCUDA);
            return net.ptr();
          },
          [](torch::nn::Module& net, const Batch& b) {
            return cross_entropy(static_cast<nn::ResNet18Impl&>(net).forward(b[0]), b[1]);
          },
          random_batch(batch, 224)};
}

Workload qat_net() {
  return {"QATNet, 32 px, 100 classes, 2 bits, batch 128",
          [] {
            auto net = nn::QATNet(nn::QATNetOptions{});
            net->to(torch::kCUDA);
            return net.ptr();
          },
          [](torch::nn::Module& net, const Batch& b) {
            return cross_entropy(static_cast<nn::QATNetImpl&>(net).forward(b[0]), b[1]);
          },
          random_batch(128, 32)};
}

std::vector<Row> optimizer_rows() {
  const auto eager = GraphOptions().capture(false);
  const auto captured = GraphOptions();
  std::vector<Row> rows = {{kTorchAdamW, torch_adamw}};
  rows.push_back(steps_of<AdamW>("AdamW, eager", AdamWOptions(1e-3), eager));
  rows.push_back(steps_of<AdamW>("AdamW, captured", AdamWOptions(1e-3), captured));
  for (const int k : {2, 8}) {
    const auto name = "S-Adam k=" + std::to_string(k);
    rows.push_back(steps_of<SAdam>(name + ", eager", SAdamOptions(1e-3).probes(k), eager));
    rows.push_back(steps_of<SAdam>(name + ", captured", SAdamOptions(1e-3).probes(k), captured));
    rows.push_back(
        steps_of<SAdam>(name + ", a quarter, captured", SAdamOptions(1e-3).probes(k), captured, 4));
    rows.push_back(steps_of<SAdam>(name + ", authors', captured",
                                   SAdamOptions::reference().lr(1e-3).probes(k), captured));
  }
  return rows;
}

std::vector<Row> stream_rows() {
  std::vector<Row> rows;
  for (const int k : {2, 8, 16})
    for (const int streams : {0, 1, 2, 4, 8, 16})
      if (streams <= k)
        rows.push_back(steps_of<SAdam>("k=" + std::to_string(k) + ", " + std::to_string(streams) + " streams",
                                       SAdamOptions(1e-3).probes(k), GraphOptions().streams(streams)));
  return rows;
}

Runner warm(const Row& row, const Workload& work) {
  auto runner = row.make(work);
  for (int i = 0; i < 2; ++i) runner.step();
  c10::cuda::device_synchronize();
  return runner;
}

}  // namespace sadam::bench
