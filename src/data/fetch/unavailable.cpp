// fetch.h where libcurl, libarchive or OpenSSL was missing when the program was built.
#include <sadam/error.h>

#include "data/fetch/fetch.h"

namespace sadam::data {

FetchResult fetch(const CatalogueEntry& entry, const FetchOptions& options) {
  const auto place = entry.path_below(options.root);
  std::error_code ignored;
  if (std::filesystem::exists(place, ignored)) return {.path = place, .already_there = true};
  const std::string by_hand = entry.archive ? "unpack it so that " + place.string() + " is its folder"
                                            : "save it as " + place.string();
  throw Error(
      "this sadam was built without downloading (libcurl, libarchive and OpenSSL were not all found); get " +
      entry.url + " by hand and " + by_hand + ".");
}

std::string check_file(const CatalogueEntry& entry, const std::filesystem::path& root, const Watch&) {
  throw Error("this sadam was built without OpenSSL, so " + entry.path_below(root).string() +
              " cannot be verified; its " + std::string(to_string(entry.checksum.hash)) + " should be " +
              entry.checksum.hex + ".");
}

}  // namespace sadam::data
