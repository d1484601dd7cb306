// A whole file over HTTP, over as many attempts as it takes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "data/fetch/fetch.h"
#include "data/fetch/part_file.h"
#include "data/fetch/watch.h"

namespace sadam::data {

/// Returns once `part` holds what the server sends as the whole file; whether those are the right bytes is
/// for the caller to see. Throws an Error when it gives up (the bytes so far are kept), when the disk fails,
/// and Interrupted.
void download(const std::string& url, PartFile& part, std::uint64_t expected, const DownloadLimits& limits,
              const std::function<void(const std::string&)>& note, const Watch& watch);

}  // namespace sadam::data
