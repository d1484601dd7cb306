#include "data/data_set.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "base/quantities.h"
#include "base/usage_error.h"
#include "data/cifar.h"
#include "data/picture.h"
#include "data/synthetic.h"

namespace sadam::data {
namespace {

// Far above any network here, far below where sizes overflow.
constexpr std::size_t kMostPixels = 4096;

struct CifarFiles {
  std::int64_t classes = 10;
  std::vector<std::string> train;
  std::vector<std::string> test;
};

CifarFiles cifar_files(std::int64_t classes, const std::filesystem::path& folder) {
  const auto at = [&](const std::string& name) { return (folder / name).string(); };
  if (classes == 100) return {classes, {at("train.bin")}, {at("test.bin")}};
  CifarFiles files{classes, {}, {at("test_batch.bin")}};
  for (int i = 1; i <= 5; ++i) files.train.push_back(at(fmt::format("data_batch_{}.bin", i)));
  return files;
}

// Another number of classes than is known is the first of a folder's problems.
Folder with_known_classes(Folder list, const KnownSet& set) {
  if (list.classes.size() != static_cast<std::size_t>(set.classes))
    list.problems.insert(list.problems.begin(),
                         fmt::format("{} has {} classes and {} has {}: `sadam data fetch {}` gets it whole.",
                                     list.train.folder.parent_path().string(), list.classes.size(), set.name,
                                     set.classes, set.name));
  return list;
}

/// What a name stands for: files to read, or images to make.
using Content = std::variant<CifarFiles, Folder, KnownSet>;

/// The one place that tells the kinds apart. (Without a default, so that the compiler misses a new one.)
Content content_of(const std::string& name, const std::filesystem::path& root) {
  if (const auto path = path_in_name(name)) return list_class_folders(*path);
  const auto& set = known_set(name);
  switch (set.kind) {
    case DataKind::cifar:
      return cifar_files(set.classes, known_folder(set, root));
    case DataKind::class_folders:
      return with_known_classes(list_class_folders(known_folder(set, root)), set);
    case DataKind::tiny_imagenet:
      return with_known_classes(list_tiny_imagenet(known_folder(set, root)), set);
    case DataKind::synthetic:
      return set;
  }
  throw Error(fmt::format("{} is of a kind that cannot be read: this is a mistake in the catalogue.", name));
}

template <class... Functions>
struct ForEach : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
ForEach(Functions...) -> ForEach<Functions...>;  // clang 14 asks for it

// ---- Opening.

// `wanted` of the images a part has, which must be there.
std::size_t checked_count(const std::string& name, const char* part, std::size_t wanted, std::size_t there) {
  if (wanted > there)
    throw UsageError(
        fmt::format("{} {} images of {} are asked for and it has {}: ask for fewer, or 0 for all.", wanted,
                    part, name, there));
  return wanted;
}

constexpr const char* kBothParts = "training and validation";

/// All but the images that are held out, and those. `Part` is Images or FolderPart.
template <class Part>
std::pair<Part, Part> held_out(const DataRequest& request, Part all, std::int64_t classes) {
  const auto count = request.validation_images;
  if (count == 0) return {std::move(all), {}};
  checked_count(request.name, kBothParts, count + request.train_images, all.labels.size());
  if (count == all.labels.size())
    throw UsageError(fmt::format("{} validation images are all that {} has to train on: ask for fewer.",
                                 count, request.name));
  const auto chosen = even_subset(all.labels, classes, count);
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < all.labels.size(); ++i)
    if (!std::ranges::binary_search(chosen, i)) rest.push_back(i);
  return {subset(all, rest), subset(all, chosen)};
}

std::shared_ptr<const ImageSet> as_set(Images images, std::int64_t /*is known*/, std::size_t pixels) {
  return in_memory(std::move(images), pixels);
}
std::shared_ptr<const ImageSet> as_set(FolderPart part, std::int64_t classes, std::size_t pixels) {
  return folder_images(std::move(part), classes, pixels);
}

/// `all` are those to train on, before some are held out.
template <class Part>
DataSet open_parts(const DataRequest& request, Part all, Part test, std::int64_t classes,
                   std::size_t pixels) {
  const auto some_of = [&](const char* name, Part part, std::size_t wanted) {
    const auto count = checked_count(request.name, name, wanted, part.labels.size());
    if (count != 0 && count != part.labels.size())
      part = subset(part, even_subset(part.labels, classes, count));
    return as_set(std::move(part), classes, pixels);
  };
  auto [train, validation] = held_out(request, std::move(all), classes);
  return {some_of("training", std::move(train), request.train_images),
          some_of("test", std::move(test), request.test_images),
          validation.labels.empty() ? nullptr : as_set(std::move(validation), classes, pixels),
          Normalization{},
          {}};
}

DataSet open_folder(const DataRequest& request, const Folder& folder, std::size_t pixels) {
  refuse_problems(folder);
  auto set = open_parts(request, folder.train, folder.test, static_cast<std::int64_t>(folder.classes.size()),
                        pixels);
  set.normalization = imagenet_normalization();
  set.class_names = folder.classes;
  return set;
}

// A folder that is there is not fetched again.
std::string how_to_replace(const DataRequest& request, const std::vector<std::string>& files) {
  return fmt::format("Remove {}, then `sadam data fetch {}` gets it again.",
                     std::filesystem::path(files.front()).parent_path().string(), request.name);
}

Images read_cifar(const DataRequest& request, std::int64_t known, const std::vector<std::string>& files) {
  auto images = [&] {
    try {
      return read_cifar_files(files, known);
    } catch (const Error& error) {
      throw Error(fmt::format("{} {}", error.what(), how_to_replace(request, files)));
    }
  }();
  const auto classes = std::set(images.labels.begin(), images.labels.end()).size();
  if (classes != static_cast<std::size_t>(images.classes))
    throw Error(fmt::format("{} has images of {} classes and {} has {}: it is not whole. {}", files.front(),
                            classes, request.name, images.classes, how_to_replace(request, files)));
  return images;
}

DataSet open_cifar(const DataRequest& request, const CifarFiles& files, std::size_t pixels) {
  auto train = read_cifar(request, files.classes, files.train);
  return open_parts(request, std::move(train), read_cifar(request, files.classes, files.test), files.classes,
                    pixels);
}

// The synthetic sets are data, not part of an experiment's randomness: always the same ones.
constexpr std::uint64_t kSyntheticSeed = 0;

// Only as many as are asked for are made.
DataSet open_synthetic(const DataRequest& request, const KnownSet& set, std::size_t pixels) {
  const auto part = [&](const char* name, bool test, std::size_t wanted, std::size_t all) {
    const auto count = checked_count(request.name, name, wanted, all);
    return make_synthetic(
        {.classes = set.classes, .count = count == 0 ? all : count, .seed = kSyntheticSeed, .test = test});
  };
  const auto held = request.validation_images;
  const auto wanted = request.train_images == 0 ? 0 : request.train_images + held;
  const auto* const name = held == 0 ? "training" : kBothParts;
  auto train = part(name, false, wanted, set.train_images);
  auto test = part("test", true, request.test_images, set.test_images);
  return open_parts(request, std::move(train), std::move(test), set.classes, pixels);
}

// ---- Checking.

// The class of every image that is there.
struct Labels {
  std::size_t classes = 0;
  std::vector<std::int64_t> train = {};
  std::vector<std::int64_t> test = {};
};

// Runs work(0) … work(total − 1), each once, on all cores and on this thread, which alone reports progress.
// What `work` throws must not escape it.
template <class Work>
void run_all(std::size_t total, const CheckProgress& progress, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  const auto take_one = [&] {
    const auto i = next.fetch_add(1);
    if (i >= total) return false;
    work(i);
    ++done;
    return true;
  };
  std::vector<std::jthread> helpers;  // joined also if the progress throws
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(cores, total); ++i)
    helpers.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && take_one()) {
      }
    });
  while (take_one())
    if (progress) progress(done, total);
  for (auto& helper : helpers) helper.join();
  if (progress) progress(total, total);
}

void decode_all(const Folder& folder, const CheckProgress& progress, std::vector<std::string>& problems) {
  std::mutex mutex;
  std::vector<std::pair<std::size_t, std::string>> found;
  const auto in_train = folder.train.files.size();
  run_all(in_train + folder.test.files.size(), progress, [&](std::size_t i) {
    const auto path = i < in_train ? folder.train.path(i) : folder.test.path(i - in_train);
    std::string problem;
    try {
      decode_picture_file(path);
      return;
    } catch (const Error& error) {
      problem = error.what();
    } catch (const std::exception& error) {
      problem = fmt::format("{}: {}", path.string(), error.what());
    }
    const std::lock_guard lock(mutex);
    found.emplace_back(i, std::move(problem));
  });
  std::ranges::sort(found);  // the order of the files, whoever was first
  for (auto& each : found) problems.push_back(std::move(each.second));
}

Labels check_folder(const Folder& folder, const CheckProgress& progress, std::vector<std::string>& problems) {
  problems.insert(problems.end(), folder.problems.begin(), folder.problems.end());
  decode_all(folder, progress, problems);
  return {folder.classes.size(), folder.train.labels, folder.test.labels};
}

Labels check_cifar(const CifarFiles& files, const CheckProgress& progress,
                   std::vector<std::string>& problems) {
  Labels all{static_cast<std::size_t>(files.classes)};
  std::size_t done = 0;
  const auto read = [&](const std::vector<std::string>& paths, std::vector<std::int64_t>& labels) {
    for (const auto& path : paths) {
      try {
        const auto more = read_cifar_files({path}, files.classes).labels;
        labels.insert(labels.end(), more.begin(), more.end());
      } catch (const Error& error) {
        problems.emplace_back(error.what());
      }
      if (progress) progress(++done, files.train.size() + files.test.size());
    }
  };
  read(files.train, all.train);
  read(files.test, all.test);
  return all;
}

// Compares with the official numbers: class by class where all classes have the same.
void compare(const KnownSet& set, const char* part, const std::vector<std::int64_t>& labels,
             std::size_t official, const std::vector<std::string>& classes,
             std::vector<std::string>& problems) {
  const auto report = [&](const std::string& whose, std::size_t there, std::size_t expected) {
    if (there != expected)
      problems.push_back(fmt::format("{} has {} in the {} part, and the official {} has {}.", whose,
                                     base::counted(there, "image"), part, set.name, expected));
  };
  if (!set.even) return report(set.name, labels.size(), official);
  const auto count = classes.empty() ? static_cast<std::size_t>(set.classes) : classes.size();
  for (std::size_t i = 0; i < count; ++i)
    report(fmt::format("class {}", classes.empty() ? fmt::format("{}", i) : classes[i]),
           static_cast<std::size_t>(std::ranges::count(labels, static_cast<std::int64_t>(i))),
           official / static_cast<std::size_t>(set.classes));
}

// The size that all images have, as far as they are looked at; nothing where they differ or are no squares.
std::optional<std::size_t> common_pixels(const std::string& name) {
  const auto path = path_in_name(name);
  if (!path) return pixels_of(name);
  std::optional<std::size_t> common;
  for (const auto& file : some_pictures(*path / "train")) {
    const auto size = decode_picture_file(file, Read::size);
    if (size.width != size.height || size.width != common.value_or(size.width)) return std::nullopt;
    common = size.width;
  }
  return common;
}

CheckReport report_of(const std::string& name, const Labels& labels, std::vector<std::string> problems) {
  const auto outcome = problems.empty() ? std::string("all is well")
                                        : fmt::format("{} found", base::counted(problems.size(), "problem"));
  return {
      fmt::format("{}: {} and {} of {} {}: {}.", name, base::counted(labels.train.size(), "training image"),
                  base::counted(labels.test.size(), "test image"), labels.classes,
                  labels.classes == 1 ? "class" : "classes", outcome),
      std::move(problems)};
}

}  // namespace

DataSet open_data_set(const DataRequest& request) {
  const auto pixels = request.pixels == 0 ? pixels_of(request.name) : request.pixels;
  if (pixels > kMostPixels)
    throw UsageError(fmt::format("images of {} pixels are asked for: {} is the most.", pixels, kMostPixels));
  return std::visit(ForEach{[&](const CifarFiles& files) { return open_cifar(request, files, pixels); },
                            [&](const Folder& folder) { return open_folder(request, folder, pixels); },
                            [&](const KnownSet& set) { return open_synthetic(request, set, pixels); }},
                    content_of(request.name, request.root));
}

std::size_t own_pixels(const std::string& name) { return common_pixels(name).value_or(pixels_of(name)); }

bool is_scaled(const std::string& name, std::size_t pixels) { return common_pixels(name) != pixels; }

Normalization imagenet_normalization() { return {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}}; }

CheckReport check_data_set(const std::string& name, const std::filesystem::path& root,
                           const CheckProgress& progress) {
  const auto content = content_of(name, root);
  if (std::holds_alternative<KnownSet>(content))
    return {fmt::format("{} is made by the program: there is nothing to check.", name), {}};
  std::vector<std::string> problems;
  std::vector<std::string> classes;
  const auto labels =
      std::visit(ForEach{[&](const CifarFiles& files) { return check_cifar(files, progress, problems); },
                         [&](const Folder& folder) {
                           classes = folder.classes;
                           return check_folder(folder, progress, problems);
                         },
                         [](const KnownSet& /*made by the program*/) { return Labels(); }},
                 content);
  if (!path_in_name(name)) {
    const auto& set = known_set(name);
    compare(set, "training", labels.train, set.train_images, classes, problems);
    compare(set, "test", labels.test, set.test_images, classes, problems);
  }
  return report_of(name, labels, std::move(problems));
}

}  // namespace sadam::data
