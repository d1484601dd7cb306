#include "data/fetch/response.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sadam::data {
namespace {

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

bool Response::take(std::string_view line) {
  line = trimmed(line);
  if (line.empty()) return true;
  if (line.starts_with("HTTP/")) {
    *this = {};
    const auto space = line.find(' ');
    if (space != std::string_view::npos) status = number_in<int>(line.substr(space + 1, 3)).value_or(0);
    return false;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const auto name = line.substr(0, colon);
  auto value = trimmed(line.substr(colon + 1));
  if (same_name(name, "Content-Length")) {
    length = number_in<std::uint64_t>(value);
  } else if (same_name(name, "Content-Range") && value.starts_with("bytes ")) {
    value.remove_prefix(6);
    const auto slash = value.find('/');
    if (slash == std::string_view::npos) return false;
    first = number_in<std::uint64_t>(value.substr(0, std::min(slash, value.find('-'))));
    all = number_in<std::uint64_t>(value.substr(slash + 1));
  } else if (same_name(name, "ETag") && !value.starts_with("W/")) {
    etag = value;
  } else if (same_name(name, "Last-Modified")) {
    modified = value;
  }
  return false;
}

}  // namespace sadam::data
