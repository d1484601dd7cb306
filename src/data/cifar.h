// The binary form of CIFAR-10 and CIFAR-100, as their authors publish it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/image_set.h"

namespace sadam::data {

/// Reads one file's bytes: for 10 classes records of 1 label and 3072 pixels, for 100 of a coarse label, a
/// fine one, which counts, and the pixels. Refuses, with a sentence, a size that is no whole number of
/// records and a label that does not exist; nothing is skipped.
Images read_cifar(std::span<const std::uint8_t> bytes, std::int64_t classes);

/// Reads files one after the other into one set. A sentence about bad bytes names the file.
Images read_cifar_files(const std::vector<std::string>& paths, std::int64_t classes);

}  // namespace sadam::data
