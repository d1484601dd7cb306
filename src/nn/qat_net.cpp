#include "nn/qat_net.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <fmt/format.h>
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
  if (options.bits < 2 || options.bits > 8) {
    throw Error(fmt::format("{}-bit quantization is not possible: use 2 to 8 bits.", options.bits));
  }
  if (options.classes < 1) {
    throw Error(fmt::format("QATNet was asked for {} classes: it needs at least 1.", options.classes));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw Error(fmt::format("QATNet was asked for a dropout of {}: it must be at least 0 and below 1.",
                            options.dropout));
  }
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

at::Tensor QATNetImpl::prepare(const at::Tensor& images) {
  // On the CPU convolutions and pools are several times faster where the channels lie together; what follows
  // keeps the format of the images.
  const bool on_cpu = images.device().is_cpu();
  return fake_quantize(on_cpu ? images.contiguous(at::MemoryFormat::ChannelsLast) : images, options_.bits);
}

at::Tensor QATNetImpl::logits(const at::Tensor& prepared) {
  auto x = prepared;
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
