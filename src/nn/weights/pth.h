// .pth and .pt files: a state dict of tensors as torch.save writes it.
#pragma once

#include <cstddef>
#include <span>

#include "nn/weights/tensor_file.h"

namespace sadam::weights {

/// Does the file begin like a .pth file, in the zip layout of torch 1.6 and later or the layout before that?
bool looks_like_pth(std::span<const std::byte> file);

/// Reads either layout. Tensors point into `file`, which must outlive them, or into `TensorFile::owned`.
/// Throws an Error that says what is wrong with the file, or what it asks for that is not a dict of tensors;
/// nothing in the file is ever executed. A build without libarchive refuses the zip layout.
TensorFile read_pth(std::span<const std::byte> file);

}  // namespace sadam::weights
