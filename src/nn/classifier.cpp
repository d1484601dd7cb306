#include "nn/classifier.h"

#include <stdexcept>

#include "base/usage_error.h"
#include "nn/qat_net.h"
#include "nn/resnet18.h"

namespace sadam::nn {

std::shared_ptr<Classifier> make_classifier(const ClassifierOptions& options) {
  try {
    switch (options.model) {
      case Model::qatnet:
        return std::make_shared<QATNetImpl>(QATNetOptions{.pixels = options.pixels,
                                                          .classes = options.classes,
                                                          .bits = options.bits,
                                                          .dropout = options.dropout});
      case Model::resnet18:
        return std::make_shared<ResNet18Impl>(ResNet18Options{.classes = options.classes});
    }
  } catch (const Error& error) {
    // The networks say what is wrong; that it was asked for makes it a wrong use.
    throw UsageError(error.what());
  }
  throw std::logic_error("a model that nn/model.h does not list");
}

// The last batch norms of a ResNet-18 see one value a channel of a single image of at most 32 pixels.
std::int64_t least_batch(Model model, std::int64_t pixels) {
  return model == Model::resnet18 && pixels <= 32 ? 2 : 1;
}

std::string pretrained_weights(Model model) { return model == Model::resnet18 ? "resnet18" : ""; }

bool wants_imagenet_inputs(Model model) { return !pretrained_weights(model).empty(); }

}  // namespace sadam::nn
