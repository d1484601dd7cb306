#include "base/quote.h"

namespace sadam::base {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 100;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result = "'";
  for (const char letter : text.substr(0, longest)) {
    const auto code = static_cast<unsigned char>(letter);
    if (code >= 0x20 && code < 0x7f) {
      result += letter;
    } else {
      result += {'\\', 'x', digits[code >> 4U], digits[code & 15U]};
    }
  }
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace sadam::base
