// The networks by name: an entry here, a class, and its branch in classifier.cpp. Free of libtorch.
#pragma once

#include "step/option_names.h"

namespace sadam::nn {

// clang-format off
#define SADAM_MODELS(VALUE)                                                                                  \
  VALUE(qatnet, "the paper's small network: every weight and activation fake-quantized")                     \
  VALUE(resnet18, "ResNet-18 as torchvision has it")
// clang-format on

enum class Model { SADAM_MODELS(SADAM_ENUMERATOR) };
SADAM_FAMILY(Model, SADAM_MODELS)

}  // namespace sadam::nn
