// Data sets by name: cifar10, cifar100, tinyimagenet, imagewoof, synthetic10, synthetic100, or a folder of
// images laid out as ImageNet's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/image_set.h"

namespace sadam::data {

struct DataSet {
  std::shared_ptr<const ImageSet> train;
  std::shared_ptr<const ImageSet> test;
  Normalization normalization;
};

struct DataRequest {
  std::string name;  ///< one of data_set_names(), or "folder:PATH"
  std::filesystem::path root =
      "data";                    ///< holds cifar-100-binary/ and so on, as the official archives unpack
  std::size_t pixels = 0;        ///< 0: the data set's own size (32, 64, 160, 224 for folders)
  std::size_t train_images = 0;  ///< only so many, drawn evenly from the classes in a fixed order; 0: all
  std::size_t test_images = 0;
};

/// Throws a UsageError for a name that does not exist (with the nearest one), and an Error that says how to
/// get the data (`sadam data fetch NAME`) where it is missing, or which file is damaged.
DataSet open_data_set(const DataRequest& request);

/// The names that need no path.
const std::vector<std::string>& data_set_names();

/// Classes and own size of a named set, without opening it; {0, 224} for a folder.
struct DataShape {
  std::int64_t classes = 0;
  std::size_t pixels = 0;
};
DataShape shape_of(const std::string& name);

/// What networks pretrained on ImageNet expect, and what sets of photographs come with; CIFAR and the
/// synthetic sets come with (x − 0.5)/0.5.
Normalization imagenet_normalization();

}  // namespace sadam::data
