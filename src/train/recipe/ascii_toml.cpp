#include "train/recipe/ascii_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/usage_error.h"

namespace sadam::train {
namespace {

bool is_ascii(char letter) { return static_cast<unsigned char>(letter) < 0x80; }
bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) { return is_ascii(letter); });
}

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  ///< in bytes; 0 if the text does not begin with a character
};

/// The first character of some UTF-8, the shortest form of it only, and no halves of surrogate pairs.
CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xc2 ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                                              : 4;
  if (length == 0 || length > text.size()) return {};
  if (length == 1) return {byte(0), 1};
  char32_t value = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    value = value << 6U | (byte(i) & 0x3fU);
  }
  const bool too_long = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool none = (value >= 0xd800 && value < 0xe000) || value > 0x10ffff || byte(0) > 0xf4;
  return too_long || none ? CodePoint{} : CodePoint{value, length};
}

/// Goes through a document once. Where it is no TOML it may be copied in the wrong way: then the parser
/// refuses it.
class AsciiCopy {
 public:
  AsciiCopy(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  std::string made() && {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '#') {
        copy_comment();
      } else if (letter == '"' || letter == '\'') {
        copy_string(letter);
      } else if (is_ascii(letter)) {
        result_ += letter;
        ++at_;
      } else {
        refuse("outside quotes there are only letters, digits and signs of ASCII");
      }
    }
    return std::move(result_);
  }

 private:
  void copy_comment() {
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_)
      result_ += is_ascii(text_[at_]) ? text_[at_] : '?';
  }

  void copy_string(char quote) {
    const std::string thrice(3, quote);
    const auto closing = text_.substr(at_).starts_with(thrice) ? thrice : std::string(1, quote);
    at_ += closing.size();
    const auto end = end_of_string(quote, closing);
    const auto content = text_.substr(at_, end - at_);
    // A string between single quotes has no escapes: one that needs them gets double quotes.
    const bool requoted = quote == '\'' && !is_ascii(content);
    const auto delimiter = requoted ? std::string(closing.size(), '"') : closing;
    result_ += delimiter;
    copy_content(end, quote == '"', requoted);
    if (at_ < text_.size() && text_.substr(at_).starts_with(closing)) {
      result_ += delimiter;
      at_ += closing.size();
    }
  }

  /// Where the closing quotes are, or the line or document ends without them.
  std::size_t end_of_string(char quote, std::string_view closing) const {
    const bool one_line = closing.size() == 1;
    for (auto i = at_; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (one_line && text_[i] == '\n') {
        return i;
      } else if (text_.substr(i).starts_with(closing)) {
        // Of up to five quotes in a row the last three close.
        for (int extra = 0; !one_line && extra < 2 && text_.substr(i + 1).starts_with(closing); ++extra) ++i;
        return i;
      }
    }
    return text_.size();
  }

  void copy_content(std::size_t end, bool has_escapes, bool requoted) {
    while (at_ < end) {
      const char letter = text_[at_];
      if (!is_ascii(letter)) {
        copy_escaped();
      } else if (letter == '\\' && has_escapes) {
        if (at_ + 1 < end && !is_ascii(text_[at_ + 1]))
          refuse("after a backslash comes the letter of an escape");
        result_ += text_.substr(at_, std::min<std::size_t>(2, end - at_));
        at_ += std::min<std::size_t>(2, end - at_);
      } else {
        if (requoted && (letter == '"' || letter == '\\')) result_ += '\\';
        result_ += letter;
        ++at_;
      }
    }
  }

  void copy_escaped() {
    const auto [value, length] = first_code_point(text_.substr(at_));
    if (length == 0) refuse("it is not UTF-8");
    result_ += fmt::format("\\U{:08X}", static_cast<std::uint32_t>(value));
    at_ += length;
  }

  [[noreturn]] void refuse(std::string_view reason) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw UsageError(fmt::format("{}:{}: this is not TOML: {}.", origin_, line, reason));
  }

  std::string_view text_;
  std::string_view origin_;
  std::size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::string ascii_toml(std::string_view text, std::string_view origin) {
  return is_ascii(text) ? std::string(text) : AsciiCopy(text, origin).made();
}

}  // namespace sadam::train
