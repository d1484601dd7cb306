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

  virtual std::shared_ptr<torch::nn::Module> shared_module() = 0;
  torch::nn::Module& module() { return *shared_module(); }

  /// What does not depend on the weights, done once for a batch of images (n × 3 × h × w, float). QATNet: the
  /// quantization of the input.
  virtual at::Tensor prepare(const at::Tensor& images) = 0;
  /// What computes the logits of prepared images by a module of this kind: this one's, or a clone of it.
  using Logits = at::Tensor (*)(torch::nn::Module& module, const at::Tensor& prepared);
  virtual Logits logits() const = 0;

  /// What computes the logits of these images, as often as it is called. The function keeps the network's
  /// module alive and sees every change of its weights and of its mode, training or evaluation.
  std::function<at::Tensor()> logits_of(const at::Tensor& images);
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

/// The fewest images of this size that the network of this name can be trained on at a time.
std::int64_t least_batch(const std::string& name, std::int64_t pixels);

}  // namespace sadam::nn
