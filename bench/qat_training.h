// QATNet with an optimizer of its own, stepped as the trainer steps it.
#pragma once

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <sadam/adamw.h>
#include <sadam/s_adam.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "nn/classifier.h"
#include "train/training.h"

namespace sadam::bench {

struct Batch {
  static constexpr std::int64_t kPixels = 32;
  static constexpr std::int64_t kClasses = 100;

  explicit Batch(std::int64_t size)
      : images(at::randn({size, 3, kPixels, kPixels})), labels(at::randint(kClasses, {size}, at::kLong)) {}

  at::Tensor images;
  at::Tensor labels;
};

class Training {
 public:
  explicit Training(const Batch& batch) : batch_(batch), network_(nn::make_classifier({})) {
    network_->train();
  }
  void use(const SAdamOptions& options) { optimizer_ = std::make_unique<SAdam>(*network_, options); }
  void use(const AdamWOptions& options) { optimizer_ = std::make_unique<AdamW>(*network_, options); }

  // What does not depend on the weights is done before the closure, and counted here.
  void step() {
    const auto prepared = network_->prepare(batch_.images);
    optimizer_->step([&] { return train::cross_entropy(network_->logits(prepared), batch_.labels); });
  }

  torch::nn::Module& module() { return *network_; }
  Optimizer& optimizer() { return *optimizer_; }

 private:
  const Batch& batch_;
  std::shared_ptr<nn::Classifier> network_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace sadam::bench
