#include "nn/qat_net.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>

#include "nn/layers.h"

namespace sadam::nn {
namespace {

/// Channels after each convolution.
std::vector<std::int64_t> channels_for(std::int64_t pixels) {
  if (pixels == 32) return {16, 32};
  if (pixels == 64 || pixels == 160 || pixels == 224) return {16, 32, 64};
  throw Error(fmt::format("QATNet does not know images of {} pixels: set data.pixels to 32, 64, 160 or 224.",
                          pixels));
}

void check_options(const QATNetOptions& options) {
  channels_for(options.pixels);
  check_bits(options.bits);
  if (options.classes < 1) {
    throw Error(fmt::format("QATNet was asked for {} classes: it needs at least 1.", options.classes));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw Error(fmt::format("QATNet was asked for a dropout of {}: it must be at least 0 and below 1.",
                            options.dropout));
  }
}

void check_images(const at::Tensor& images, std::int64_t pixels) {
  if (images.defined() && images.dim() == 4 && images.size(1) == 3 && images.size(2) == pixels &&
      images.size(3) == pixels) {
    return;
  }
  throw Error(
      fmt::format("QATNet was given {}: give it [n, 3, {}, {}].", shape_in_words(images), pixels, pixels));
}

}  // namespace

QATNetImpl::QATNetImpl(const QATNetOptions& options) : options_(options) {
  check_options(options);
  std::int64_t in = 3;
  std::int64_t side = options.pixels;
  for (const auto out : channels_for(options.pixels)) {
    const auto name = fmt::format("conv{}", convolutions_.size() + 1);
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
    throw Error(
        fmt::format("QATNet with {} bits was given images quantized to {}: let it quantize them itself.",
                    options_.bits, images.bits_));
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
