// POSIX file descriptors that close themselves, with errors that name the file.
#pragma once

#include <sadam/error.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

namespace sadam::base {

/// Owns an open file.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor(std::move(other)).swap(*this);
    return *this;
  }
  ~Descriptor();

  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  void swap(Descriptor& other) noexcept { std::swap(number_, other.number_); }

 private:
  int number_ = -1;
};

/// "cannot write runs/a/events.jsonl: No space left on device." from an `errno`.
Error failure(std::string_view verb, const std::filesystem::path& path, int code);

/// The flags are those of open(2); a new file gets the usual permissions.
Descriptor open_descriptor(const std::filesystem::path& path, int flags);

/// `path` is for the message.
void write_all(const Descriptor& file, std::span<const std::byte> bytes, const std::filesystem::path& path);

/// Returns once the file's bytes are on the disk.
void sync(const Descriptor& file, const std::filesystem::path& path);

/// The folder that a file is in; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Returns once the names in the folder are on the disk: a new file is otherwise lost with the power, bytes
/// and all. Does nothing where the file system has no such thing.
void sync_names(const Descriptor& folder, const std::filesystem::path& path);

}  // namespace sadam::base
