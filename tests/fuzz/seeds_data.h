// Seeds for the fuzzers of data sets.
#pragma once

#include <filesystem>

namespace sadam::data::fuzz {

/// Makes FOLDER/fuzz_cifar, FOLDER/fuzz_jpeg and FOLDER/fuzz_annotations.
void make_seeds(const std::filesystem::path& folder);

}  // namespace sadam::data::fuzz
