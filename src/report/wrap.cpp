#include "report/wrap.h"

#include "base/display_width.h"

namespace sadam::report {

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    auto& line = lines.back();
    if (line.empty())
      line = word;
    else if (base::display_width(line) + 1 + base::display_width(word) <= width)
      (line += ' ') += word;
    else
      lines.emplace_back(word);
  }
  return lines;
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  if (width == 0) return std::string(text);
  const auto room = width - std::min(width, base::display_width(indent));
  std::string result;
  for (const auto& line : wrapped_lines(text, room)) {
    if (!result.empty()) (result += '\n') += indent;
    result += line;
  }
  return result;
}

}  // namespace sadam::report
