// A line of fields that gives up whole fields where there is little room, and never cuts a number in two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/display_width.h"

namespace sadam::train {

struct LineField {
  std::string text;
  int importance = 0;  ///< the least important goes first
};

/// In their order, with two spaces between them.
inline std::string joined(const std::vector<LineField>& fields) {
  std::string line;
  for (const auto& field : fields) line += (line.empty() ? "" : "  ") + field.text;
  return line;
}

/// As many of them, the most important ones, as fit into so many columns.
inline std::string fitted(std::vector<LineField> fields, std::size_t columns) {
  auto line = joined(fields);
  while (base::display_width(line) > columns) {
    fields.erase(std::min_element(fields.begin(), fields.end(),
                                  [](const auto& a, const auto& b) { return a.importance < b.importance; }));
    line = joined(fields);
  }
  return line;
}

}  // namespace sadam::train
