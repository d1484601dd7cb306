// MD5 and SHA-256 of a file.
#pragma once

#include <filesystem>
#include <string>

#include "data/fetch/catalogue.h"
#include "data/fetch/watch.h"

namespace sadam::data {

/// In lower-case hexadecimal.
std::string digest_of(const std::filesystem::path& path, Hash hash, const Watch& watch);

}  // namespace sadam::data
