// A smaller set with the same classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/folder.h"
#include "data/images.h"

namespace sadam::data {

/// Which images make a subset of `count`, in ascending order: the first image of each class, then the second
/// of each, and so on until there are enough (in the last round the classes with the lowest numbers); a class
/// that has no more is passed over. A pure function of its arguments; all of them if `count` is 0. `count`
/// must not exceed the number of labels.
std::vector<std::size_t> even_subset(std::span<const std::int64_t> labels, std::int64_t classes,
                                     std::size_t count);

Images subset(const Images& images, std::span<const std::size_t> chosen);
FolderPart subset(const FolderPart& part, std::span<const std::size_t> chosen);

}  // namespace sadam::data
