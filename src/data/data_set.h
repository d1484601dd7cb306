// Data sets by name (data/catalogue.h), or folders of images laid out as ImageNet's: opened, or checked.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/catalogue.h"
#include "data/image_set.h"

namespace sadam::data {

struct DataSet {
  std::shared_ptr<const ImageSet> train;
  std::shared_ptr<const ImageSet> test;
  std::shared_ptr<const ImageSet> validation;  ///< held out of the training images; null: none were asked for
  Normalization normalization;
  std::vector<std::string> class_names;  ///< of a folder: as its folders are called; else empty
};

struct DataRequest {
  std::string name;  ///< of the catalogue, or "folder:PATH"
  std::filesystem::path root =
      "data";                    ///< holds cifar-100-binary/ and so on, as the official archives unpack
  std::size_t pixels = 0;        ///< 0: the data set's own size (32, 64, 160; 224 for folders)
  std::size_t train_images = 0;  ///< only so many, drawn evenly from the classes in a fixed order; 0: all
  std::size_t test_images = 0;
  /// Taken from the training images first, in the same way, and not trained on.
  std::size_t validation_images = 0;
};

/// Throws a UsageError for a name that does not exist (with the nearest one), and an Error that says how to
/// get the data (`sadam data fetch NAME`) where it is missing, or which file is damaged.
DataSet open_data_set(const DataRequest& request);

/// The size of the images of a folder:PATH, where all that are looked at (a few of each of its first classes)
/// are squares of one size; 224 where they are not. Of any other set its own size.
std::size_t own_pixels(const std::string& name);

/// Whether some of them have another size, and are scaled to this one.
bool is_scaled(const std::string& name, std::size_t pixels);

/// What networks pretrained on ImageNet expect, and what sets of photographs come with; CIFAR and the
/// synthetic sets come with (x − 0.5)/0.5.
Normalization imagenet_normalization();

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
