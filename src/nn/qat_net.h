// QATNet: the small convolutional network of the quantization experiments.
#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "nn/classifier.h"

namespace sadam::nn {

struct QATNetOptions {
  std::int64_t pixels = 32;    ///< width and height of an image: 32, 64, 160 or 224
  std::int64_t classes = 100;  ///< at least 1
  int bits = 2;                ///< 2 to 8
  double dropout = 0.25;       ///< at least 0, below 1
};

/// Convolutions of 3×3 without padding, each followed by ReLU and a max-pool of 2×2: 3 → 16 → 32 channels for
/// 32 pixels, 3 → 16 → 32 → 64 for larger images; then dropout and a linear layer. Every convolution
/// quantizes its input and its weight, the linear layer its weight; biases stay as they are.
///
/// Parameters: conv1.weight, conv1.bias, conv2.…, (conv3.…,) fc.weight, fc.bias.
class QATNetImpl : public Classifier {
 public:
  /// Throws `sadam::Error` for options that are not allowed.
  explicit QATNetImpl(const QATNetOptions& options = {});

  /// The images, n × 3 × pixels × pixels, as the first convolution sees them: quantized. A copy.
  at::Tensor prepare(const at::Tensor& images) override;
  at::Tensor logits(const at::Tensor& prepared) override;

  const QATNetOptions& options() const { return options_; }

 private:
  QATNetOptions options_;
  std::vector<torch::nn::Conv2d> convolutions_;
  torch::nn::Linear fc_{nullptr};
};
TORCH_MODULE(QATNet);

}  // namespace sadam::nn
