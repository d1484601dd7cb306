// ResNet-18: the network of the small-batch experiments.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/classifier.h"

namespace sadam::nn {

class BasicBlock;

struct ResNet18Options {
  std::int64_t classes = 1000;  ///< at least 1
};

/// He et al., "Deep Residual Learning for Image Recognition" (2015), table 1, in the form of torchvision: a
/// 7×7 convolution, a max-pool, four layers of two blocks with 64, 128, 256 and 512 channels, the mean over
/// the image, a linear layer. Images may have any size; each side shrinks by 32 on the way, rounded up.
///
/// Parameters and buffers have torchvision's names, so that its weights fit: conv1.weight, bn1.weight, …,
/// layer2.0.downsample.0.weight, …, fc.bias. The initialisation is torchvision's too: convolutions normal
/// with variance 2/(kernel area · output channels), batch norms 1 and 0, the linear layer as torch has it.
class ResNet18Impl : public Classifier {
 public:
  /// Throws `sadam::Error` for options that are not allowed.
  explicit ResNet18Impl(const ResNet18Options& options = {});

  /// Images, n × 3 × h × w, are prepared as they are.
  at::Tensor logits(const at::Tensor& images) override;

  const ResNet18Options& options() const { return options_; }

 private:
  ResNet18Options options_;
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::vector<std::shared_ptr<BasicBlock>> blocks_;
  torch::nn::Linear fc_{nullptr};
};
TORCH_MODULE(ResNet18);

}  // namespace sadam::nn
