#include "nn/resnet18.h"

#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>
#include <sadam/error.h>
#include <torch/nn/init.h>

#include <array>

namespace sadam::nn {
namespace {

struct Convolution {
  std::int64_t in;
  std::int64_t out;
  std::int64_t kernel;
  std::int64_t stride;
};

/// Padded so that a stride of 1 keeps the size. No bias: the batch norm after it has one.
torch::nn::Conv2d convolution(const Convolution& shape) {
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(shape.in, shape.out, shape.kernel)
                             .stride(shape.stride)
                             .padding(shape.kernel / 2)
                             .bias(false));
  torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
  return conv;
}

/// A module that only gives its children a name. (A Sequential would do the same and takes seconds to
/// compile.)
std::shared_ptr<torch::nn::Module> container() { return std::make_shared<torch::nn::Module>(); }

}  // namespace

/// Two 3×3 convolutions around which the input is led: x + f(x).
class BasicBlock : public torch::nn::Module {
 public:
  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride) {
    conv1_ = register_module("conv1", convolution({in, out, 3, stride}));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(out));
    conv2_ = register_module("conv2", convolution({out, out, 3, 1}));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(out));
    if (in == out && stride == 1) return;
    const auto downsample = register_module("downsample", container());
    shortcut_conv_ = downsample->register_module("0", convolution({in, out, 1, stride}));
    shortcut_bn_ = downsample->register_module("1", torch::nn::BatchNorm2d(out));
  }

  at::Tensor forward(const at::Tensor& x) {
    // In place is safe: no gradient of a batch norm needs its output.
    auto y = bn1_->forward(conv1_->forward(x)).relu_();
    y = bn2_->forward(conv2_->forward(y));
    y += shortcut_conv_ ? shortcut_bn_->forward(shortcut_conv_->forward(x)) : x;
    return y.relu_();
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::BatchNorm2d bn2_{nullptr};
  torch::nn::Conv2d shortcut_conv_{nullptr};  // where the shape changes
  torch::nn::BatchNorm2d shortcut_bn_{nullptr};
};

ResNet18Impl::ResNet18Impl(const ResNet18Options& options) : options_(options) {
  if (options.classes < 1) {
    throw Error(fmt::format("ResNet-18 was asked for {} classes: it needs at least 1.", options.classes));
  }
  constexpr std::array<std::int64_t, 4> kWidths = {64, 128, 256, 512};
  conv1_ = register_module("conv1", convolution({3, kWidths[0], 7, 2}));
  bn1_ = register_module("bn1", torch::nn::BatchNorm2d(kWidths[0]));
  std::int64_t in = kWidths[0];
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    const auto layer = register_module(fmt::format("layer{}", i + 1), container());
    const std::int64_t stride = i == 0 ? 1 : 2;
    blocks_.push_back(layer->register_module("0", std::make_shared<BasicBlock>(in, kWidths[i], stride)));
    blocks_.push_back(layer->register_module("1", std::make_shared<BasicBlock>(kWidths[i], kWidths[i], 1)));
    in = kWidths[i];
  }
  fc_ = register_module("fc", torch::nn::Linear(in, options.classes));
}

at::Tensor ResNet18Impl::logits(const at::Tensor& images) {
  auto x = bn1_->forward(conv1_->forward(images)).relu_();
  x = at::max_pool2d(x, 3, 2, 1);
  for (const auto& block : blocks_) x = block->forward(x);
  return fc_->forward(x.mean({2, 3}));
}

}  // namespace sadam::nn
