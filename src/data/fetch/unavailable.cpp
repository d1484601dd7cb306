// fetch.h where libcurl, libarchive or OpenSSL was missing when the program was built.
#include <fmt/format.h>
#include <sadam/error.h>

#include "data/fetch/fetch.h"

namespace sadam::data {

FetchResult fetch(const CatalogueEntry& entry, const FetchOptions& options) {
  const auto place = entry.path_below(options.root);
  std::error_code ignored;
  if (std::filesystem::exists(place, ignored)) return {.path = place, .already_there = true};
  throw Error(
      fmt::format("this sadam was built without downloading (libcurl, libarchive and OpenSSL were not all "
                  "found); get {} by "
                  "hand and {} {}{}.",
                  entry.url, entry.archive ? "unpack it so that" : "save it as", place.string(),
                  entry.archive ? " is its folder" : ""));
}

std::string check_file(const CatalogueEntry& entry, const std::filesystem::path& root, const Watch&) {
  throw Error(
      fmt::format("this sadam was built without OpenSSL, so {} cannot be verified; its {} should be {}.",
                  entry.path_below(root).string(), to_string(entry.checksum.hash), entry.checksum.hex));
}

}  // namespace sadam::data
