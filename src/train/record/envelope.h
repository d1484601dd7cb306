// What a checkpoint is wrapped in, so that nothing damaged is ever parsed: magic, version, lengths, checksum.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::train {

struct Envelope {
  std::string_view meta;               ///< a small JSON object, for us
  std::span<const std::byte> payload;  ///< the archive, for torch
};

std::vector<std::byte> seal(std::string_view meta, std::span<const std::byte> payload);

/// Points into `bytes`. Throws an Error for bytes that are not an envelope, cut short, longer than they say,
/// from a newer version, or whose checksum does not fit. Nothing is allocated by a length that is not true.
Envelope open_envelope(std::span<const std::byte> bytes);

}  // namespace sadam::train
