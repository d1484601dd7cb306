// Seeds for the fuzzers, each made by the writer of its room.
#pragma once

#include <filesystem>

namespace sadam::data::fuzz {

/// Makes FOLDER/fuzz_cifar, FOLDER/fuzz_jpeg and FOLDER/fuzz_annotations.
void make_seeds(const std::filesystem::path& folder);

}  // namespace sadam::data::fuzz

namespace sadam::train::fuzz {

/// Makes FOLDER/fuzz_recipe, FOLDER/fuzz_events and FOLDER/fuzz_envelope.
void make_seeds(const std::filesystem::path& folder);

}  // namespace sadam::train::fuzz
