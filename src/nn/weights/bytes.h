// Reading from bytes that nobody vouches for: every access is checked.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <sadam/error.h>

#include "base/text.h"

namespace sadam::weights {

static_assert(std::endian::native == std::endian::little,
              "weight files are little-endian and are read as they are");

using Bytes = std::span<const std::byte>;

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// For names from the file in messages.
using base::in_quotes;

/// A position in some bytes. Reading past the end throws an Error that says `what` is cut short.
class ByteReader {
 public:
  ByteReader(Bytes bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  std::size_t left() const { return bytes_.size() - position_; }

  Bytes take(std::uint64_t count) {
    if (count > left()) throw Error(fmt::format("{} is cut short", what_));
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  template <typename Number>
  Number number() {
    static_assert(std::is_arithmetic_v<Number>);
    Number value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  /// Up to the next line feed, which is consumed and not returned.
  std::string_view line() {
    const auto length = as_text(bytes_.subspan(position_)).find('\n');
    if (length == std::string_view::npos) throw Error(fmt::format("{} is cut short", what_));
    const auto text = as_text(take(length));
    take(1);
    return text;
  }

 private:
  Bytes bytes_;
  std::string_view what_;
  std::size_t position_ = 0;
};

}  // namespace sadam::weights
