// What is measured on: parameters shaped like those of a ResNet-18, and the copy everything is compared with.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sadam::bench {

/// How much is measured.
struct Scale {
  std::int64_t width = 64;  ///< of the ResNet-18: its parameters grow with the square
  int rounds = 1;
  int calls = 1;  ///< counted in a round
};
/// About 1 M, 11 M and 100 M parameters; the last is left out of a quick run.
std::vector<Scale> scales(bool quick);

/// The 62 tensors of a ResNet-18 for 32-pixel images and 100 classes, whose first stage has `width` channels:
/// 64 is the usual network with 11.2 M parameters. Small random numbers, float32, requiring gradients.
std::vector<at::Tensor> resnet18_parameters(std::int64_t width);
/// As many parameters in one tensor.
std::vector<at::Tensor> one_parameter(std::int64_t width);

std::int64_t count_of(const std::vector<at::Tensor>& parameters);

/// Two arrays of `count` floats, one to be copied to the other by a memcpy on each of `threads` threads.
class PlainCopy {
 public:
  PlainCopy(std::int64_t count, int threads);
  void run();

 private:
  std::vector<float> from_;
  std::vector<float> to_;
  int threads_;
};

}  // namespace sadam::bench
