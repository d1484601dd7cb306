// What tests of readers share: a folder that goes away, and the sentence of a refusal.
#pragma once

#include <sadam/error.h>
#include <stdlib.h>  // mkdtemp

#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/temporary_folder.h"

namespace sadam::data::samples {

class TemporaryFolder : public sadam::TemporaryFolder {
 public:
  /// Writes a file, and the folders it lies in.
  std::filesystem::path write(const std::string& name, std::span<const std::byte> bytes) const {
    const auto path = this->path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    return write(name, std::as_bytes(std::span(text)));
  }
};

/// What the Error thrown by `act` says, or "" if it throws none.
template <class Act>
std::string sentence_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace sadam::data::samples
