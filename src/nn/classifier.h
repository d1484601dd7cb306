// What a trainer sees of a network, whichever it is.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace sadam::nn {

/// A network that tells classes apart, and how to feed it.
class Classifier {
 public:
  virtual ~Classifier() = default;

  virtual torch::nn::Module& module() = 0;

  /// What computes the logits of these images (n × 3 × h × w, float), as often as it is called. Whatever does
  /// not depend on the weights is done here, once (QATNet: the quantization of the input). The function
  /// keeps the network alive and sees every change of its weights and of its mode, training or evaluation.
  virtual std::function<at::Tensor()> logits_of(const at::Tensor& images) = 0;
};

struct ClassifierOptions {
  std::string name = "qatnet";  ///< qatnet or resnet18
  std::int64_t pixels = 32;     ///< width and height of an image; resnet18 takes any size
  std::int64_t classes = 100;   ///< at least 1
  int bits = 2;                 ///< qatnet: 2 to 8
  double dropout = 0.25;        ///< qatnet: at least 0, below 1
};

/// With weights drawn from torch's default generator. Throws `UsageError` for an unknown name, with the one
/// that was probably meant, and for options that the network does not allow.
std::unique_ptr<Classifier> make_classifier(const ClassifierOptions& options);

}  // namespace sadam::nn
