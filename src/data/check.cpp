#include "data/check.h"

#include <sadam/error.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "data/data_set_known.h"
#include "data/folder_images.h"

namespace sadam::data {
namespace {

// What is counted of a part while it is read.
struct PartCount {
  const char* name;  // for people
  std::vector<std::size_t> images;

  std::size_t all() const {
    std::size_t sum = 0;
    for (const auto count : images) sum += count;
    return sum;
  }
};

struct SetCount {
  explicit SetCount(std::size_t classes)
      : train{"training", std::vector<std::size_t>(classes)},
        test{"test", std::vector<std::size_t>(classes)} {}
  PartCount train;
  PartCount test;
};

std::string plural(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

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
      decode_jpeg_file(path);
      return;
    } catch (const Error& error) {
      problem = error.what();
    } catch (const std::exception& error) {
      problem = path.string() + ": " + error.what();
    }
    const std::lock_guard lock(mutex);
    found.emplace_back(i, std::move(problem));
  });
  std::sort(found.begin(), found.end());  // the order of the files, whoever was first
  for (auto& each : found) problems.push_back(std::move(each.second));
}

void count_labels(const std::vector<std::int64_t>& labels, PartCount& count) {
  for (const auto label : labels) ++count.images[static_cast<std::size_t>(label)];
}

SetCount check_folder(const Folder& folder, const CheckProgress& progress,
                      std::vector<std::string>& problems) {
  SetCount count(folder.classes.size());
  problems.insert(problems.end(), folder.problems.begin(), folder.problems.end());
  count_labels(folder.train.labels, count.train);
  count_labels(folder.test.labels, count.test);
  decode_all(folder, progress, problems);
  return count;
}

SetCount check_cifar(const KnownSet& set, const CifarFiles& files, const CheckProgress& progress,
                     std::vector<std::string>& problems) {
  SetCount count(static_cast<std::size_t>(set.classes));
  std::size_t done = 0;
  const auto read = [&](const std::vector<std::string>& paths, PartCount& part) {
    for (const auto& path : paths) {
      try {
        count_labels(read_cifar_files({path}, files.kind).labels, part);
      } catch (const Error& error) {
        problems.emplace_back(error.what());
      }
      if (progress) progress(++done, files.train.size() + files.test.size());
    }
  };
  read(files.train, count.train);
  read(files.test, count.test);
  return count;
}

// Compares with the official numbers: class by class where all classes have the same.
void compare(const KnownSet& set, const PartCount& part, std::size_t official,
             const std::vector<std::string>& classes, std::vector<std::string>& problems) {
  const auto report = [&](const std::string& whose, std::size_t there, std::size_t expected) {
    if (there != expected)
      problems.push_back(whose + " has " + plural(there, "image", "images") + " in the " + part.name +
                         " part, and the official " + set.name + " has " + std::to_string(expected) + ".");
  };
  if (!set.even) return report(set.name, part.all(), official);
  for (std::size_t i = 0; i < part.images.size(); ++i)
    report("class " + (classes.empty() ? std::to_string(i) : classes[i]), part.images[i],
           official / static_cast<std::size_t>(set.classes));
}

CheckReport report_of(const std::string& name, const SetCount& count, std::vector<std::string> problems) {
  const auto outcome =
      problems.empty() ? "all is well" : plural(problems.size(), "problem", "problems") + " found";
  return {name + ": " + plural(count.train.all(), "training image", "training images") + " and " +
              plural(count.test.all(), "test image", "test images") + " of " +
              plural(count.train.images.size(), "class", "classes") + ": " + outcome + ".",
          std::move(problems)};
}

}  // namespace

CheckReport check_data_set(const std::string& name, const std::filesystem::path& root,
                           const CheckProgress& progress) {
  std::vector<std::string> problems;
  if (const auto path = path_in_name(name)) {
    const auto count = check_folder(list_class_folders(*path), progress, problems);
    return report_of(name, count, std::move(problems));
  }
  const auto& set = known_set(name);
  if (set.kind == DataKind::synthetic)
    return {name + " is made by the program: there is nothing to check.", {}};
  const auto place = known_folder(set, root);
  std::vector<std::string> classes;
  const auto count = [&] {
    if (set.kind == DataKind::cifar) return check_cifar(set, cifar_files(set, place), progress, problems);
    const auto folder = list_known_folder(set, place);
    classes = folder.classes;
    return check_folder(folder, progress, problems);
  }();
  compare(set, count.train, set.train_images, classes, problems);
  compare(set, count.test, set.test_images, classes, problems);
  return report_of(name, count, std::move(problems));
}

}  // namespace sadam::data
