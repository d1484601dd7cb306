#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace sadam::base {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (auto& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[to.size()];
}

/// "eval" for "evaluate", "prox" for "prox_sgd"; but "data" is not short for "data.name", which is another
/// thing.
bool is_short_for(std::string_view text, std::string_view whole) {
  constexpr std::size_t kLeast = 3;  // fewer letters say too little
  if (text.size() < kLeast || text.size() >= whole.size() || !whole.starts_with(text)) return false;
  const char next = whole[text.size()];
  return (next >= 'a' && next <= 'z') || (next >= '0' && next <= '9') || next == '_';
}

/// Of several the one that lacks the fewest letters, and of those the first; `wanted` is in lower case.
std::string nearest_in_length(std::string_view wanted, std::span<const std::string> valid) {
  std::string best;
  std::size_t best_difference = 0;
  for (const auto& candidate : valid) {
    const auto other = lower_case(candidate);
    if (!is_short_for(wanted, other) && !is_short_for(other, wanted)) continue;
    const auto difference = std::max(wanted.size(), other.size()) - std::min(wanted.size(), other.size());
    if (!best.empty() && difference >= best_difference) continue;
    best = candidate;
    best_difference = difference;
  }
  return best;
}

/// Those that take the fewest edits, if those are few enough.
std::vector<std::string> nearest_by_edits(std::string_view wanted, std::span<const std::string> valid) {
  std::vector<std::string> best;
  std::size_t best_distance = 0;
  for (const auto& candidate : valid) {
    const auto longer = std::max(wanted.size(), candidate.size());
    const auto shorter = std::min(wanted.size(), candidate.size());
    // A third of the letters may be wrong, but never all of them.
    const auto limit =
        std::min(std::max<std::size_t>(1, longer / 3), longer - std::min<std::size_t>(1, longer));
    if (longer - shorter > limit) continue;
    const auto distance = edit_distance(wanted, lower_case(candidate));
    if (distance > limit || (!best.empty() && distance > best_distance)) continue;
    if (!best.empty() && distance < best_distance) best.clear();
    best.push_back(candidate);
    best_distance = distance;
  }
  return best;
}

/// What is as near as can be; several only if one is as good a guess as another.
std::vector<std::string> all_nearest(std::string_view name, std::span<const std::string> valid) {
  const auto wanted = lower_case(name);
  auto best = nearest_by_edits(wanted, valid);
  if (best.empty())
    if (auto other = nearest_in_length(wanted, valid); !other.empty()) best.push_back(std::move(other));
  return best;
}

/// Ideographs, Hangul, full-width forms and pictures take two columns, combining marks none.
std::size_t columns_of(char32_t c) {
  if (c >= 0x0300 && c <= 0x036f) return 0;
  const bool wide =
      (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
      (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
      (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
  return wide ? 2 : 1;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string result;
  for (const char letter : text.substr(0, kLongest)) {
    const auto code = static_cast<unsigned char>(letter);
    result += code >= 0x20 && code < 0x7f ? std::string(1, letter) : fmt::format("\\x{:02x}", code);
  }
  return fmt::format("'{}{}'", result, text.size() > kLongest ? "..." : "");
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (auto& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return result;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string nearest(std::string_view name, std::span<const std::string> valid) {
  const auto best = all_nearest(name, valid);
  return best.empty() ? "" : best.front();
}

std::string suggestion(std::string_view name, std::span<const std::string> valid) {
  constexpr std::size_t kAFew = 6;
  const auto meant = all_nearest(name, valid);
  if (meant.size() == 1 || (meant.size() > 1 && valid.size() > kAFew))
    return fmt::format("; did you mean '{}'?", fmt::join(meant, "' or '"));
  return valid.empty() ? "." : fmt::format("; valid are: {}.", fmt::join(valid, ", "));
}

std::string alternatives(std::span<const std::string> names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

Glyph first_glyph(std::string_view text) {
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
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (too_long || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return {};
  return {length, columns_of(code)};
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    if (text.starts_with("\033[")) {
      const auto end =
          std::find_if(text.begin() + 2, text.end(), [](char c) { return c >= '@' && c <= '~'; });
      text.remove_prefix(static_cast<std::size_t>(end - text.begin()) + (end == text.end() ? 0 : 1));
      continue;
    }
    const auto glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

}  // namespace sadam::base
