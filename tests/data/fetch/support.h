// What the tests of fetching share: archives, and bytes to put into them.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace sadam::data::testing {

namespace fs = std::filesystem;
using sadam::testing::Child;
using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::text_of_file;
using sadam::testing::write_text;

/// Bytes that do not compress.
inline std::string noise(std::size_t count) {
  std::mt19937 generator(7);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(generator() & 255U);
  return bytes;
}

struct Member {
  std::string name;
  std::string text;
  std::string symbolic_link = {};
  std::string hard_link = {};
};

enum class Packed { tar_gz, zip };

/// The bytes of an archive.
inline std::string archive_of(const std::vector<Member>& members, Packed packed = Packed::tar_gz) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "archive";
  archive* writer = archive_write_new();
  if (packed == Packed::tar_gz) {
    archive_write_add_filter_gzip(writer);
    archive_write_set_format_pax_restricted(writer);
  } else {
    archive_write_set_format_zip(writer);
  }
  archive_write_open_filename(writer, file.c_str());
  for (const auto& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_filetype(entry, AE_IFREG);
    if (member.name.ends_with('/')) archive_entry_set_filetype(entry, AE_IFDIR);
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.text.size()));
    if (!member.symbolic_link.empty()) {
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, member.symbolic_link.c_str());
    }
    if (!member.hard_link.empty()) archive_entry_set_hardlink(entry, member.hard_link.c_str());
    EXPECT_EQ(archive_write_header(writer, entry), ARCHIVE_OK) << archive_error_string(writer);
    archive_write_data(writer, member.text.data(), member.text.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  return text_of_file(file);
}

}  // namespace sadam::data::testing
