// Whether a data set on disk is whole: every image read, every class counted.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sadam::data {

struct CheckReport {
  std::string summary;                ///< one line: what is there, and whether all is well
  std::vector<std::string> problems;  ///< a sentence each, every damaged file by its name
};

/// How many of how many files have been read. Called from the thread that called check_data_set, and what it
/// throws ends the check.
using CheckProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Decodes every image of both parts, on all cores, and compares the number of images in each class with the
/// official set's (which a folder:PATH does not have). A set that is not there is an Error.
CheckReport check_data_set(const std::string& name, const std::filesystem::path& root,
                           const CheckProgress& progress = {});

}  // namespace sadam::data
