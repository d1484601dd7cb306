// What tests of pictures ask of their text.
#pragma once

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

namespace sadam {

/// How often a text has a part.
inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// A sentence on what is wrong with the nesting, attributes or entities of a document without comments and
/// CDATA; "" if nothing is.
inline std::string xml_fault(const std::string& text) {
  static const std::regex tag(R"(<(/?)([a-zA-Z]+)((?: [a-zA-Z:-]+="[^"<>&]*(?:&[a-z]+;[^"<>&]*)*")*)(/?)>)");
  static const std::regex words("[^<>&]*(?:&(?:amp|lt|gt|quot);[^<>&]*)*");
  std::vector<std::string> open;
  auto at = text.cbegin();
  while (at != text.cend()) {
    const auto next = std::find(at, text.cend(), '<');
    if (!std::regex_match(at, next, words)) return "bad text: " + std::string(at, next);
    for (auto c = at; c != next; ++c)
      if (static_cast<unsigned char>(*c) < 0x20 && *c != '\n') return "a control character";
    if (next == text.cend()) break;
    std::smatch found;
    if (!std::regex_search(next, text.cend(), found, tag, std::regex_constants::match_continuous))
      return "bad tag: " + std::string(next, std::min(next + 60, text.cend()));
    if (found[1].length() > 0) {
      if (open.empty() || open.back() != found[2]) return "unexpected </" + found[2].str() + ">";
      open.pop_back();
    } else if (found[4].length() == 0) {
      open.push_back(found[2]);
    }
    at = found[0].second;
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

}  // namespace sadam
