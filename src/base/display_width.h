// How much room a text takes on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sadam::base {

/// One character of a UTF-8 text: how many bytes it has and how many columns it takes.
struct Glyph {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

namespace detail {

/// Ideographs, Hangul, full-width forms and pictures take two columns, combining marks none.
inline std::size_t columns_of(char32_t c) {
  if (c >= 0x0300 && c <= 0x036f) return 0;
  const bool wide =
      (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
      (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
      (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
  return wide ? 2 : 1;
}

}  // namespace detail

/// The first character of a text that is not empty. A byte that is not UTF-8 counts as one character.
inline Glyph first_glyph(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80                    ? 1
                             : lead >= 0xc2 && lead <= 0xdf ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
  if (length <= 1 || length > text.size()) return {};
  char32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  return {length, detail::columns_of(code)};
}

/// The columns a UTF-8 text takes on a terminal.
inline std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const auto glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

/// The text with every control character (line feeds and escape sequences too) replaced by '?', so that a
/// name from outside can neither break a table nor drive the terminal.
inline std::string printable(std::string_view text) {
  std::string result(text);
  for (auto& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return result;
}

}  // namespace sadam::base
