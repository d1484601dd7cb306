// A whole file over HTTP, in as many attempts as it takes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "base/file.h"
#include "data/fetch/fetch.h"

namespace sadam::data {

/// NAME.part: the first bytes of a download, and a note of which version of the file they are from.
class PartFile {
 public:
  /// Opens NAME.part with what an earlier attempt left there.
  explicit PartFile(std::filesystem::path path);
  /// Removes it if nothing came.
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  /// The ETag or the date of the version the bytes are from; "" where the server gave neither.
  const std::string& validator() const { return validator_; }

  void append(std::span<const char> bytes);
  /// Forgets the bytes; those to come are of the version `validator`.
  void restart(const std::string& validator);
  /// Gives it its name, once all bytes are on the disk.
  void finish_as(const std::filesystem::path& path);
  void remove();

 private:
  std::filesystem::path note() const { return path_.string() + ".etag"; }

  std::filesystem::path path_;
  base::Descriptor file_;
  std::uint64_t size_ = 0;
  std::string validator_;
};

/// Returns once `part` holds what the server sends as the whole file; whether those are the right bytes is
/// for the caller to see. Throws an Error when it gives up (the bytes so far are kept), when the disk fails,
/// and Interrupted.
void download(const std::string& url, PartFile& part, std::uint64_t expected, const DownloadLimits& limits,
              const std::function<void(const std::string&)>& note, const Watch& watch);

}  // namespace sadam::data
