// A folder out of an archive, all of it or nothing.
#pragma once

#include <filesystem>

#include "data/fetch/fetch.h"

namespace sadam::data {

/// Unpacks the folder of that name in a tar, tar.gz or zip archive to `place`, through a hidden folder beside
/// it that takes its name in the end; a hidden folder that a killed process left is removed. Whatever else
/// the archive holds stays in it. Throws an Error that names the archive: if it is damaged, has no such
/// folder, or holds a name or a link that leads elsewhere. The caller sees to it that two processes do not do
/// this at once.
void unpack(const std::filesystem::path& archive, const std::filesystem::path& place, const Watch& watch);

}  // namespace sadam::data
