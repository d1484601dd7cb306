#include "nn/classifier.h"

#include <stdexcept>

#include "base/usage_error.h"
#include "nn/qat_net.h"
#include "nn/resnet18.h"

namespace sadam::nn {
namespace {

class QATNetClassifier : public Classifier {
 public:
  explicit QATNetClassifier(const QATNetOptions& options) : net_(options) {}

  std::shared_ptr<torch::nn::Module> shared_module() override { return net_.ptr(); }

  at::Tensor prepare(const at::Tensor& images) override { return net_->quantize(images).tensor(); }

  at::Tensor logits(const at::Tensor& prepared) override {
    return net_->forward_quantized(net_->as_quantized(prepared));
  }

 private:
  QATNet net_;
};

class ResNet18Classifier : public Classifier {
 public:
  explicit ResNet18Classifier(const ResNet18Options& options) : net_(options) {}

  std::shared_ptr<torch::nn::Module> shared_module() override { return net_.ptr(); }

  at::Tensor prepare(const at::Tensor& images) override { return images; }

  at::Tensor logits(const at::Tensor& prepared) override { return net_->forward(prepared); }

 private:
  ResNet18 net_;
};

std::logic_error unlisted() { return std::logic_error("a model that nn/model.h does not list"); }

}  // namespace

std::unique_ptr<Classifier> make_classifier(const ClassifierOptions& options) {
  try {
    switch (options.model) {
      case Model::qatnet:
        return std::make_unique<QATNetClassifier>(QATNetOptions{.pixels = options.pixels,
                                                                .classes = options.classes,
                                                                .bits = options.bits,
                                                                .dropout = options.dropout});
      case Model::resnet18:
        return std::make_unique<ResNet18Classifier>(ResNet18Options{.classes = options.classes});
    }
  } catch (const Error& error) {
    // The networks say what is wrong; that it was asked for makes it a wrong use.
    throw UsageError(error.what());
  }
  throw unlisted();
}

std::int64_t least_batch(Model model, std::int64_t pixels) {
  switch (model) {
    case Model::qatnet:
      return 1;
    case Model::resnet18:
      return ResNet18Impl::least_batch(pixels);
  }
  throw unlisted();
}

bool wants_imagenet_inputs(Model model) {
  switch (model) {
    case Model::qatnet:
      return false;
    case Model::resnet18:
      return true;
  }
  throw unlisted();
}

std::string pretrained_weights(Model model) {
  switch (model) {
    case Model::qatnet:
      return "";
    case Model::resnet18:
      return "resnet18";
  }
  throw unlisted();
}

}  // namespace sadam::nn
