// Weights from a file into a network, and back.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "nn/weights/tensor_file.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace sadam::nn {

struct LoadOptions {
  /// For a start from weights of another task: if the last layer (fc.*) differs in any way, all of it stays
  /// as it is in the model, and is no fault of the file.
  bool replace_last_layer = false;
  std::string source = "the weight file";  ///< how the sentence of an Error begins
};

/// Copies every tensor of the file into the parameter or buffer of its name, converted to its type and
/// device. Returns the names of those that kept their values. Throws `sadam::Error` with the differences if
/// the file does not fit; the model is then untouched.
std::vector<std::string> load_weights(torch::nn::Module& model, const weights::TensorFile& file,
                                      const LoadOptions& options = {});

/// One tensor of a file; half precision becomes float32.
at::Tensor tensor_of(const weights::Tensor& from);

/// A safetensors file of all parameters and buffers: float32, and int64 for integers and for
/// num_batches_tracked.
std::vector<std::byte> export_safetensors(const torch::nn::Module& model,
                                          const std::map<std::string, std::string>& metadata = {});

}  // namespace sadam::nn
