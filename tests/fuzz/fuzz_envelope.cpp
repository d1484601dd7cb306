// What opens lies within the bytes and, sealed again, is the same but for the checksum, which is not checked
// here. Where it says that a run stands is, written and read back, the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <sadam/error.h>
#include "train/record/checkpoint_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace train = sadam::train;
  const auto bytes = std::as_bytes(std::span(data, size));
  train::Envelope envelope;
  try {
    envelope = train::open_envelope(bytes);
  } catch (const sadam::Error&) {
    return 0;
  }
  const auto sealed = train::seal(envelope.meta, envelope.payload);
  constexpr std::size_t kVersion = 8;  // of whatever age: it is sealed again with the newest
  constexpr std::size_t kLengths = 12;
  constexpr std::size_t kChecksum = 4;
  if (sealed.size() != size || !std::equal(sealed.begin(), sealed.begin() + kVersion, bytes.begin()) ||
      !std::equal(sealed.begin() + kLengths, sealed.end() - kChecksum, bytes.begin() + kLengths))
    std::abort();
  try {
    const auto meta = train::to_meta(train::from_meta(envelope.meta));
    if (train::to_meta(train::from_meta(meta)) != meta) std::abort();
  } catch (const sadam::Error&) {
  }
  return 0;
}
