// One attempt to get (the rest of) a file over HTTP.
#pragma once

#include <cstdint>
#include <string>

#include "data/fetch/fetch.h"
#include "data/fetch/part_file.h"
#include "data/fetch/watch.h"

namespace sadam::data {

struct TransferEnd {
  enum class Kind {
    complete,
    try_again,  ///< the line or the server failed in a way that may pass
    give_up,    ///< it will fail the same way next time
  };
  Kind kind = Kind::complete;
  std::string reason;  ///< half a sentence, such as "the connection broke off"
};

/// Continues behind the bytes that `part` has; starts it anew where the server has another version or does
/// not continue. `expected` bytes are shown as the whole until the server says. Throws an Error if the disk
/// fails, and Interrupted.
TransferEnd transfer(const std::string& url, PartFile& part, std::uint64_t expected,
                     const DownloadLimits& limits, const Watch& watch);

}  // namespace sadam::data
