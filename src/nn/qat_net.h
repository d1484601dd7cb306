// QATNet: the small convolutional network of the quantization experiments.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace sadam::nn {

struct QATNetOptions {
  std::int64_t pixels = 32;    ///< width and height of an image: 32, 64, 160 or 224
  std::int64_t classes = 100;  ///< at least 1
  int bits = 2;                ///< 2 to 8
  double dropout = 0.25;       ///< at least 0, below 1
};

/// Images as the first convolution sees them. They do not depend on the weights: make them once for a batch,
/// outside the closure, and no probe quantizes them again. A copy: what happens to the images later does not
/// reach it.
class QuantizedImages {
 public:
  const at::Tensor& tensor() const { return tensor_; }

 private:
  friend class QATNetImpl;
  QuantizedImages(at::Tensor tensor, int bits) : tensor_(std::move(tensor)), bits_(bits) {}

  at::Tensor tensor_;
  int bits_;
};

/// Convolutions of 3×3 without padding, each followed by ReLU and a max-pool of 2×2: 3 → 16 → 32 channels for
/// 32 pixels, 3 → 16 → 32 → 64 for larger images; then dropout and a linear layer. Every convolution
/// quantizes its input and its weight, the linear layer its weight; biases stay as they are.
///
/// Parameters: conv1.weight, conv1.bias, conv2.…, (conv3.…,) fc.weight, fc.bias.
class QATNetImpl : public torch::nn::Module {
 public:
  /// Throws `sadam::Error` for options that are not allowed.
  explicit QATNetImpl(const QATNetOptions& options = {});

  /// Logits (n × classes) of images (n × 3 × pixels × pixels).
  at::Tensor forward(const at::Tensor& images);

  QuantizedImages quantize(const at::Tensor& images) const;
  /// A tensor that `quantize` of a network with the same bits has made, known as such again.
  QuantizedImages as_quantized(const at::Tensor& quantized) const { return {quantized, options_.bits}; }
  /// The same as `forward` of the images they were made from.
  at::Tensor forward_quantized(const QuantizedImages& images);

  const QATNetOptions& options() const { return options_; }

 private:
  QATNetOptions options_;
  std::vector<torch::nn::Conv2d> convolutions_;
  torch::nn::Linear fc_{nullptr};
};
TORCH_MODULE(QATNet);

}  // namespace sadam::nn
