#include "nn/classifier.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
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

UsageError unknown_model(const std::string& name) {
  const std::vector<std::string> valid = {"qatnet", "resnet18"};
  return UsageError(
      fmt::format("there is no model {}{}", base::in_quotes(name), base::suggestion(name, valid)));
}

}  // namespace

std::unique_ptr<Classifier> make_classifier(const ClassifierOptions& options) {
  try {
    if (options.name == "qatnet") {
      return std::make_unique<QATNetClassifier>(QATNetOptions{.pixels = options.pixels,
                                                              .classes = options.classes,
                                                              .bits = options.bits,
                                                              .dropout = options.dropout});
    }
    if (options.name == "resnet18") {
      return std::make_unique<ResNet18Classifier>(ResNet18Options{.classes = options.classes});
    }
  } catch (const Error& error) {
    // The networks say what is wrong; that it was asked for makes it a wrong use.
    throw UsageError(error.what());
  }
  throw unknown_model(options.name);
}

std::int64_t least_batch(const std::string& name, std::int64_t pixels) {
  if (name == "qatnet") return 1;
  if (name == "resnet18") return ResNet18Impl::least_batch(pixels);
  throw unknown_model(name);
}

}  // namespace sadam::nn
