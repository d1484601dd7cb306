#include "data/cifar.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include "base/file.h"

namespace sadam::data {
namespace {

Images empty_images(std::int64_t classes) {
  Images images;
  images.height = 32;
  images.width = 32;
  images.classes = classes;
  return images;
}

}  // namespace

Images read_cifar(std::span<const std::uint8_t> bytes, std::int64_t classes) {
  auto images = empty_images(classes);
  const std::size_t labels = classes == 100 ? 2 : 1;  // bytes of them in a record; the last is the class
  const std::size_t record = labels + images.bytes_per_image();
  if (bytes.empty() || bytes.size() % record != 0)
    throw Error(
        fmt::format("this is no CIFAR-{} file: {} bytes are no whole number of records of {} bytes: it is "
                    "cut off or another file.",
                    classes, bytes.size(), record));
  images.count = bytes.size() / record;
  images.pixels.reserve(images.count * images.bytes_per_image());
  images.labels.reserve(images.count);
  for (std::size_t i = 0; i < images.count; ++i) {
    const auto one = bytes.subspan(i * record, record);
    const std::int64_t label = one[labels - 1];
    if (label >= classes)
      throw Error(fmt::format(
          "this is no CIFAR-{} file: record {} has label {} and there are {} classes: it is damaged or "
          "another file.",
          classes, i, label, classes));
    images.labels.push_back(label);
    const auto pixels = one.subspan(labels);
    images.pixels.insert(images.pixels.end(), pixels.begin(), pixels.end());
  }
  return images;
}

Images read_cifar_files(const std::vector<std::string>& paths, std::int64_t classes) {
  auto all = empty_images(classes);
  for (const auto& path : paths) {
    const auto bytes = base::read_file(path);
    const auto part = base::naming(path, [&] {
      return read_cifar({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, classes);
    });
    all.count += part.count;
    all.pixels.insert(all.pixels.end(), part.pixels.begin(), part.pixels.end());
    all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
  }
  return all;
}

}  // namespace sadam::data
