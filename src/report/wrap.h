// Sentences for a terminal of some width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::report {

/// Lines of at most `width` columns, broken between words; a longer word has a line of its own. Always at
/// least one line.
std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width);

/// The text with line feeds between those lines, each line but the first behind `indent`. A width of 0 breaks
/// nothing.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent = "");

}  // namespace sadam::report
