// Files, whole: every room reads and writes them through here.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace sadam::base {

/// All bytes of a file or pipe. Throws an Error that names it: "cannot open data/x.bin: No such file or
/// directory."
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// Writes a file that is there whole or not at all, also after a crash: to a temporary name beside it,
/// synced, renamed, the folder synced. If anything fails, an earlier file of that name is untouched, the
/// temporary one is removed, and the Error names the file and the reason.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Where a file that a user named would be written: at the end of links, so that they stay. Throws an Error
/// where something is that is no regular file, such as /dev/stdout or a folder.
std::filesystem::path writable_target(const std::filesystem::path& path);

/// Removes a folder and all that is in it, without following links; what cannot be removed stays. (Not
/// std::filesystem::remove_all: the libtorch of the Python wheel exports one that jumps to address 0.)
void remove_folder(const std::filesystem::path& path);

}  // namespace sadam::base
