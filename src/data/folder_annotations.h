// TinyImageNet's lists: which classes there are, and which image of its test part belongs to which.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::data {

/// The names in wnids.txt, one a line, sorted. A name twice, or one that is no plain file name, is an Error
/// with the number of its line.
std::vector<std::string> read_class_names(std::string_view text);

struct Annotation {
  std::string file;
  std::string class_name;
  std::size_t line = 0;  ///< from 1
};

/// val_annotations.txt: file name, tab, class, and more that is not needed, on each line. A line of another
/// form, or a file named twice, is an Error with the number of the line.
std::vector<Annotation> read_annotations(std::string_view text);

}  // namespace sadam::data
