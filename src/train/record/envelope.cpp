#include "train/record/envelope.h"

#include <sadam/error.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/crc32.h"

namespace sadam::train {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

// Magic, version, length of the meta data, length of the payload; then both; then the checksum of all that.
constexpr std::string_view envelope_magic = "SADAMRUN";
constexpr std::uint32_t newest_version = 1;
constexpr std::size_t header_size = envelope_magic.size() + sizeof newest_version + 2 * sizeof(std::uint64_t);
constexpr std::size_t checksum_size = sizeof(std::uint32_t);

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
  Number number{};
  std::memcpy(&number, bytes.subspan(offset).first(sizeof number).data(), sizeof number);
  return number;
}

/// Fills a buffer of the right size from its front.
class Filler {
 public:
  explicit Filler(std::span<std::byte> buffer) : left_(buffer) {}

  void put(std::span<const std::byte> bytes) {
    std::copy(bytes.begin(), bytes.end(), left_.begin());
    left_ = left_.subspan(bytes.size());
  }
  template <class Number>
  void put_number(Number number) {
    put(std::as_bytes(std::span(&number, 1)));
  }

 private:
  std::span<std::byte> left_;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void refuse_cut(std::size_t size) {
  throw Error("the checkpoint is cut short after " + std::to_string(size) +
              " bytes: go back to an earlier copy, or start the run anew.");
}

}  // namespace

std::vector<std::byte> seal(std::string_view meta, std::span<const std::byte> payload) {
  std::vector<std::byte> bytes(header_size + meta.size() + payload.size() + checksum_size);
  Filler filler(bytes);
  filler.put(std::as_bytes(std::span(envelope_magic)));
  filler.put_number(newest_version);
  filler.put_number(static_cast<std::uint64_t>(meta.size()));
  filler.put_number(static_cast<std::uint64_t>(payload.size()));
  filler.put(std::as_bytes(std::span(meta)));
  filler.put(payload);
  filler.put_number(base::crc32(std::span(bytes).first(bytes.size() - checksum_size)));
  return bytes;
}

Envelope open_envelope(std::span<const std::byte> bytes) {
  if (!envelope_magic.starts_with(text_of(bytes).substr(0, envelope_magic.size())))
    throw Error("this is not a checkpoint of sadam: put the right file back, or start the run anew.");
  if (bytes.size() < header_size) refuse_cut(bytes.size());
  const auto version = number_at<std::uint32_t>(bytes, envelope_magic.size());
  if (version > newest_version)
    throw Error("the checkpoint has version " + std::to_string(version) + " and this program knows version " +
                std::to_string(newest_version) + ": use a newer sadam.");
  const auto meta_size = number_at<std::uint64_t>(bytes, header_size - 2 * sizeof(std::uint64_t));
  const auto payload_size = number_at<std::uint64_t>(bytes, header_size - sizeof(std::uint64_t));
  // Nothing is added to these lengths before they are known to be small: the sum could begin again at 0.
  auto left = static_cast<std::uint64_t>(bytes.size() - header_size);
  for (const auto size : {meta_size, payload_size, static_cast<std::uint64_t>(checksum_size)}) {
    if (size > left) refuse_cut(bytes.size());
    left -= size;
  }
  if (left != 0)
    throw Error("the checkpoint is " + std::to_string(left) +
                " bytes longer than it says: it is damaged, so go back to an earlier copy.");
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // a fuzzer seldom guesses a checksum
  const auto checked = bytes.first(bytes.size() - checksum_size);
  if (base::crc32(checked) != number_at<std::uint32_t>(bytes, checked.size()))
    throw Error(
        "the checkpoint is damaged: its checksum is wrong, so go back to an earlier copy or start the run "
        "anew.");
#endif
  const auto body = bytes.subspan(header_size);
  return {text_of(body.first(static_cast<std::size_t>(meta_size))),
          body.subspan(static_cast<std::size_t>(meta_size), static_cast<std::size_t>(payload_size))};
}

}  // namespace sadam::train
