// Seeds for the fuzzers of what a run reads.
#pragma once

#include <filesystem>

namespace sadam::train::fuzz {

/// Makes `folder`/fuzz_recipe, fuzz_events and fuzz_envelope, with the program's own writers.
void make_seeds(const std::filesystem::path& folder);

}  // namespace sadam::train::fuzz
