#include "data/data_set.h"

#include <sadam/error.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/usage_error.h"
#include "data/cifar.h"
#include "data/data_set_known.h"
#include "data/folder_images.h"
#include "data/subset.h"
#include "data/synthetic.h"

namespace sadam::data {
namespace {

// The synthetic sets are data, not part of an experiment's randomness: always the same ones.
constexpr std::uint64_t synthetic_seed = 0;

// Far above any network here, far below where sizes overflow.
constexpr std::size_t max_side = 4096;

// `wanted` of the images a part has, which must be there.
std::size_t checked_count(const std::string& name, const char* part, std::size_t wanted, std::size_t there) {
  if (wanted > there)
    throw UsageError(std::to_string(wanted) + " " + part + " images of " + name +
                     " are asked for and it has " + std::to_string(there) + ": ask for fewer, or 0 for all.");
  return wanted;
}

std::shared_ptr<const ImageSet> folder_part(const DataRequest& request, const char* name,
                                            const FolderPart& part, std::size_t classes, std::size_t wanted,
                                            std::size_t pixels) {
  const auto count = checked_count(request.name, name, wanted, part.files.size());
  const auto signed_classes = static_cast<std::int64_t>(classes);
  return folder_images(subset(part, even_subset(part.labels, signed_classes, count)), signed_classes, pixels);
}

DataSet open_folder(const DataRequest& request, const Folder& folder, std::size_t pixels) {
  refuse_problems(folder);
  const auto classes = folder.classes.size();
  return {folder_part(request, "training", folder.train, classes, request.train_images, pixels),
          folder_part(request, "test", folder.test, classes, request.test_images, pixels),
          imagenet_normalization()};
}

// A folder that is there is not fetched again.
std::string how_to_replace(const DataRequest& request, const std::vector<std::string>& files) {
  return "Remove " + std::filesystem::path(files.front()).parent_path().string() +
         ", then `sadam data fetch " + request.name + "` gets it again.";
}

std::shared_ptr<const ImageSet> cifar_part(const DataRequest& request, const char* name, Cifar kind,
                                           const std::vector<std::string>& files, std::size_t wanted,
                                           std::size_t pixels) {
  auto images = [&] {
    try {
      return read_cifar_files(files, kind);
    } catch (const Error& error) {
      throw Error(std::string(error.what()) + " " + how_to_replace(request, files));
    }
  }();
  const auto classes = std::set(images.labels.begin(), images.labels.end()).size();
  if (classes != static_cast<std::size_t>(images.classes))
    throw Error(files.front() + " has images of " + std::to_string(classes) + " classes and " + request.name +
                " has " + std::to_string(images.classes) + ": it is not whole. " +
                how_to_replace(request, files));
  const auto count = checked_count(request.name, name, wanted, images.count);
  if (count != 0 && count != images.count)
    images = subset(images, even_subset(images.labels, images.classes, count));
  return in_memory(std::move(images), pixels);
}

DataSet open_cifar(const DataRequest& request, const KnownSet& set, std::size_t pixels) {
  const auto files = cifar_files(set, known_folder(set, request.root));
  return {cifar_part(request, "training", files.kind, files.train, request.train_images, pixels),
          cifar_part(request, "test", files.kind, files.test, request.test_images, pixels), Normalization{}};
}

// Only as many as are asked for are made.
DataSet open_synthetic(const DataRequest& request, const KnownSet& set, std::size_t pixels) {
  const auto part = [&](const char* name, bool test, std::size_t wanted, std::size_t all) {
    const auto count = checked_count(request.name, name, wanted, all);
    return in_memory(make_synthetic({.classes = set.classes,
                                     .count = count == 0 ? all : count,
                                     .seed = synthetic_seed,
                                     .test = test}),
                     pixels);
  };
  return {part("training", false, request.train_images, set.train_images),
          part("test", true, request.test_images, set.test_images), Normalization{}};
}

}  // namespace

DataSet open_data_set(const DataRequest& request) {
  const auto pixels = request.pixels == 0 ? shape_of(request.name).pixels : request.pixels;
  if (pixels > max_side)
    throw UsageError("images of " + std::to_string(pixels) +
                     " pixels are asked for: " + std::to_string(max_side) + " is the most.");
  if (const auto path = path_in_name(request.name))
    return open_folder(request, list_class_folders(*path), pixels);
  const auto& set = known_set(request.name);
  switch (set.kind) {
    case DataKind::cifar:
      return open_cifar(request, set, pixels);
    case DataKind::synthetic:
      return open_synthetic(request, set, pixels);
    case DataKind::class_folders:
    case DataKind::tiny_imagenet:
      break;
  }
  return open_folder(request, list_known_folder(set, known_folder(set, request.root)), pixels);
}

const std::vector<std::string>& data_set_names() {
  static const auto names = [] {
    std::vector<std::string> list;
    for (const auto& set : known_sets()) list.push_back(set.name);
    return list;
  }();
  return names;
}

DataShape shape_of(const std::string& name) {
  if (path_in_name(name)) return {0, 224};
  const auto& set = known_set(name);
  return {set.classes, set.pixels};
}

Normalization imagenet_normalization() { return {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}}; }

}  // namespace sadam::data
