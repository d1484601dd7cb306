#include "data/folder_annotations.h"

#include <sadam/error.h>

#include <algorithm>
#include <unordered_set>

namespace sadam::data {
namespace {

// Calls `use(line, number)` for each line, without its end (which may be Windows'); empty lines count but are
// not passed on.
template <class Use>
void for_each_line(std::string_view text, Use use) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) use(line, number);
  }
}

Error bad_line(std::size_t number, const std::string& reason) {
  return Error("line " + std::to_string(number) + " " + reason + ": the file is damaged or another one.");
}

// The names end up in paths, which must not lead elsewhere.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return c == '/' || c == '\\' || c < ' ' || c == 0x7f; });
}

}  // namespace

std::vector<std::string> read_class_names(std::string_view text) {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (!is_plain_name(line)) throw bad_line(number, "is no name of a class");
    if (!seen.insert(line).second) throw bad_line(number, "names a class a second time");
    names.emplace_back(line);
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Annotation> read_annotations(std::string_view text) {
  std::vector<Annotation> annotations;
  std::unordered_set<std::string_view> seen;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) throw bad_line(number, "has no tab between a file and its class");
    const auto file = line.substr(0, tab);
    const auto rest = line.substr(tab + 1);
    const auto class_name = rest.substr(0, rest.find('\t'));
    if (!is_plain_name(file) || !is_plain_name(class_name))
      throw bad_line(number, "does not begin with a file name and a class");
    if (!seen.insert(file).second) throw bad_line(number, "names a file a second time");
    annotations.push_back({std::string(file), std::string(class_name), number});
  });
  return annotations;
}

}  // namespace sadam::data
