// What a trainer sees of a network, whichever it is.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>

#include "nn/model.h"

namespace sadam::nn {

/// A network that tells classes apart, and how to feed it.
class Classifier : public torch::nn::Module {
 public:
  /// What does not depend on the weights, done once for a batch of images (n × 3 × h × w, float). QATNet: the
  /// quantization of the input.
  virtual at::Tensor prepare(const at::Tensor& images) { return images; }
  /// The logits (n × classes) of prepared images, with the weights and in the mode, training or evaluation,
  /// of now.
  virtual at::Tensor logits(const at::Tensor& prepared) = 0;

  at::Tensor forward(const at::Tensor& images) { return logits(prepare(images)); }
};

struct ClassifierOptions {
  Model model = Model::qatnet;
  std::int64_t pixels = 32;    ///< width and height of an image; resnet18 takes any size
  std::int64_t classes = 100;  ///< at least 1
  int bits = 2;                ///< qatnet: 2 to 8
  double dropout = 0.25;       ///< qatnet: at least 0, below 1
};

/// With weights drawn from torch's default generator. Throws `UsageError` for options that the
/// network does not allow.
std::shared_ptr<Classifier> make_classifier(const ClassifierOptions& options);

/// The fewest images of this size that it can be trained on at a time.
std::int64_t least_batch(Model model, std::int64_t pixels);

/// "resnet18": what `sadam data fetch` calls its pretrained weights; "" if there are none.
std::string pretrained_weights(Model model);

/// Whether it wants images with ImageNet's mean and deviation, whatever the data, because its pretrained
/// weights do.
bool wants_imagenet_inputs(Model model);

}  // namespace sadam::nn
