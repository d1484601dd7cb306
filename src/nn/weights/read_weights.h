// Weights from a file on disk, whichever format it has.
#pragma once

#include <filesystem>
#include <span>

#include "nn/weights/tensor_file.h"

namespace sadam::weights {

/// safetensors or .pth, told apart by content and not by the file's name.
TensorFile read_weights(std::span<const std::byte> file);

/// The same for a file, which the result owns. The sentence of every Error names the path.
TensorFile read_weights(const std::filesystem::path& path);

}  // namespace sadam::weights
