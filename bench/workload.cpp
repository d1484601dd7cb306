#include "workload.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include <cstddef>
#include <cstring>

namespace sadam::bench {
namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

void add_convolution(Shapes& shapes, std::int64_t out, std::int64_t in, std::int64_t side) {
  shapes.push_back({out, in, side, side});
  shapes.push_back({out});  // scale and shift of the batch norm
  shapes.push_back({out});
}

Shapes resnet18_shapes(std::int64_t width) {
  Shapes shapes;
  add_convolution(shapes, width, 3, 3);
  std::int64_t in = width;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t out = width << stage;
    for (int block = 0; block < 2; ++block) {
      add_convolution(shapes, out, in, 3);
      add_convolution(shapes, out, out, 3);
      if (in != out) add_convolution(shapes, out, in, 1);
      in = out;
    }
  }
  shapes.push_back({100, in});
  shapes.push_back({100});
  return shapes;
}

at::Tensor parameter(const std::vector<std::int64_t>& shape) {
  return at::randn(shape).mul_(0.05).set_requires_grad(true);
}

}  // namespace

std::vector<Scale> scales(bool quick) {
  if (quick) return {{19, 10, 10}, {64, 5, 1}};
  return {{19, 30, 10}, {64, 20, 2}, {191, 5, 1}};
}

std::vector<at::Tensor> resnet18_parameters(std::int64_t width) {
  std::vector<at::Tensor> parameters;
  for (const auto& shape : resnet18_shapes(width)) parameters.push_back(parameter(shape));
  return parameters;
}

std::vector<at::Tensor> one_parameter(std::int64_t width) {
  std::int64_t count = 0;
  for (const auto& shape : resnet18_shapes(width)) {
    std::int64_t size = 1;
    for (const auto side : shape) size *= side;
    count += size;
  }
  return {parameter({count})};
}

std::int64_t count_of(const std::vector<at::Tensor>& parameters) {
  std::int64_t count = 0;
  for (const auto& tensor : parameters) count += tensor.numel();
  return count;
}

PlainCopy::PlainCopy(std::int64_t count, int threads)
    : from_(static_cast<std::size_t>(count), 1), to_(static_cast<std::size_t>(count), 0), threads_(threads) {}

void PlainCopy::run() {
  const auto parts = static_cast<std::size_t>(threads_);
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = from_.size() * part / parts;
    const std::size_t end = from_.size() * (part + 1) / parts;
    std::memcpy(to_.data() + begin, from_.data() + begin, (end - begin) * sizeof(float));
  }
}

}  // namespace sadam::bench
