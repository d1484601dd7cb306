#include "nn/qat_net.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <sadam/error.h>

#include <sstream>
#include <string>

#include "nn/byte_dropout.h"
#include "nn/fake_quantize.h"
#include "nn/pool_relu.h"

namespace sadam::nn {
namespace {

/// Channels after each convolution.
std::vector<std::int64_t> channels_for(std::int64_t pixels) {
  if (pixels == 32) return {16, 32};
  if (pixels == 64 || pixels == 160 || pixels == 224) return {16, 32, 64};
  throw Error("QATNet does not know images of " + std::to_string(pixels) +
              " pixels: resize them to 32, 64, 160 or 224.");
}

void check_options(const QATNetOptions& options) {
  channels_for(options.pixels);
  check_bits(options.bits);
  if (options.classes < 1) {
    throw Error("QATNet was asked for " + std::to_string(options.classes) + " classes: it needs at least 1.");
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw Error("QATNet was asked for a dropout of " + std::to_string(options.dropout) +
                ": it must be at least 0 and below 1.");
  }
}

void check_images(const at::Tensor& images, std::int64_t pixels) {
  if (images.defined() && images.dim() == 4 && images.size(1) == 3 && images.size(2) == pixels &&
      images.size(3) == pixels) {
    return;
  }
  std::ostringstream given;
  if (images.defined()) {
    given << "images of shape " << images.sizes();
  } else {
    given << "an undefined tensor";
  }
  const auto side = std::to_string(pixels);
  throw Error("QATNet was given " + given.str() + ": give it [n, 3, " + side + ", " + side + "].");
}

}  // namespace

QATNetImpl::QATNetImpl(const QATNetOptions& options) : options_(options) {
  check_options(options);
  std::int64_t in = 3;
  std::int64_t side = options.pixels;
  for (const auto out : channels_for(options.pixels)) {
    const auto name = "conv" + std::to_string(convolutions_.size() + 1);
    convolutions_.push_back(register_module(name, torch::nn::Conv2d(in, out, 3)));
    in = out;
    side = (side - 2) / 2;
  }
  fc_ = register_module("fc", torch::nn::Linear(in * side * side, options.classes));
}

QuantizedImages QATNetImpl::quantize(const at::Tensor& images) const {
  check_images(images, options_.pixels);
  // On the CPU convolutions and pools are several times faster where the channels lie together; what follows
  // keeps the format of the images.
  const bool on_cpu = images.device().is_cpu();
  const auto laid_out = on_cpu ? images.contiguous(at::MemoryFormat::ChannelsLast) : images;
  return {fake_quantize(laid_out, options_.bits), options_.bits};
}

at::Tensor QATNetImpl::forward(const at::Tensor& images) { return forward_quantized(quantize(images)); }

at::Tensor QATNetImpl::forward_quantized(const QuantizedImages& images) {
  check_images(images.tensor(), options_.pixels);
  if (images.bits_ != options_.bits) {
    throw Error("QATNet with " + std::to_string(options_.bits) + " bits was given images quantized to " +
                std::to_string(images.bits_) + ": let it quantize them itself.");
  }
  auto x = images.tensor();
  for (std::size_t i = 0; i < convolutions_.size(); ++i) {
    const auto& conv = *convolutions_[i];
    if (i > 0) x = fake_quantize(x, options_.bits);
    x = at::conv2d(x, fake_quantize(conv.weight, options_.bits), conv.bias);
    x = pool_relu(x);
  }
  x = byte_dropout(x.flatten(1), options_.dropout, is_training());
  return at::linear(x, fake_quantize(fc_->weight, options_.bits), fc_->bias);
}

}  // namespace sadam::nn
