// Gets data sets and weights from their official addresses: downloaded, verified, unpacked, or nothing at
// all.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/usage_error.h"
#include "data/catalogue.h"

namespace sadam::data {

/// How something long tells its caller how far it is, and how the caller ends it.
struct Watch {  /// Bytes done and in all (0: not known). Called often, from the caller's own thread.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
  /// Asked several times a second; true ends the work with Interrupted. What is of use is kept.
  std::function<bool()> stop = {};

  void check() const {
    if (stop && stop()) throw Interrupted{"Stopped; run the same command again to go on."};
  }
  void report(std::uint64_t done, std::uint64_t all) const {
    check();
    if (progress) progress(done, all);
  }
};

/// When to lose patience with a server.
struct DownloadLimits {
  /// An attempt ends when fewer than `slowest` bytes a second came for as long as `stall`, or connecting took
  /// so long.
  std::chrono::seconds stall{30};
  std::uint64_t slowest = 512;
  /// So many attempts in a row that get no further than an earlier one did.
  int attempts = 5;
  /// The pause after the first of them; it doubles with each, up to 30 seconds.
  std::chrono::milliseconds pause{1'000};
};

enum class FetchStage { download, verify, unpack };

struct FetchOptions {
  std::filesystem::path root = "data";
  bool keep_archive = false;  ///< otherwise it is removed once it has been unpacked
  DownloadLimits limits = {};
  std::function<void(FetchStage stage, std::uint64_t done, std::uint64_t all)> progress = {};
  /// Told, in a sentence, when an attempt failed and another will be made.
  std::function<void(const std::string& sentence)> note = {};
  std::function<bool()> stop = {};
};

struct FetchResult {
  std::filesystem::path path = {};
  bool already_there = false;  ///< it was left alone; the digest is then empty
  std::string digest = {};     ///< the published one, such as "MD5 03b5…"
};

/// Whatever happens, also SIGKILL, the place of the entry holds all of it or nothing, and a second call
/// continues: a download from NAME.part, an archive that lies in the root (put there by hand, say) from
/// verifying it. Throws an Error in words, or Interrupted. Built without libcurl, libarchive or OpenSSL it
/// always throws, saying how to get the entry by hand.
FetchResult fetch(const CatalogueEntry& entry, const FetchOptions& options);

/// For entries that are plain files: reads the file that is there and returns its digest, "SHA-256 f370…".
/// Throws an Error if it is missing or is not the published one.
std::string check_file(const CatalogueEntry& entry, const std::filesystem::path& root, const Watch& watch);

/// Of a file, in lower-case hexadecimal.
std::string digest_of(const std::filesystem::path& path, Hash hash, const Watch& watch);

/// Unpacks the folder of that name in a tar, tar.gz or zip archive to `place`, through a hidden folder beside
/// it that takes its name in the end; a hidden folder that a killed process left is removed. Whatever else
/// the archive holds stays in it. Throws an Error that names the archive: if it is damaged, has no such
/// folder, or holds a name or a link that leads elsewhere. The caller sees to it that two processes do not do
/// this at once.
void unpack(const std::filesystem::path& archive, const std::filesystem::path& place, const Watch& watch);

}  // namespace sadam::data
