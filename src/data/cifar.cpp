#include "data/cifar.h"

#include <sadam/error.h>

#include "base/file.h"

namespace sadam::data {
namespace {

struct Layout {
  const char* name;
  std::size_t labels;  // bytes of labels in a record; the last one is the class
  std::int64_t classes;
};

Layout layout_of(Cifar kind) {
  return kind == Cifar::ten ? Layout{"CIFAR-10", 1, 10} : Layout{"CIFAR-100", 2, 100};
}

Images empty_images(const Layout& layout) {
  Images images;
  images.height = 32;
  images.width = 32;
  images.classes = layout.classes;
  return images;
}

}  // namespace

Images read_cifar(std::span<const std::uint8_t> bytes, Cifar kind) {
  const auto layout = layout_of(kind);
  auto images = empty_images(layout);
  const std::size_t record = layout.labels + images.bytes_per_image();
  if (bytes.empty() || bytes.size() % record != 0)
    throw Error("this is no " + std::string(layout.name) + " file: " + std::to_string(bytes.size()) +
                " bytes are no whole number of records of " + std::to_string(record) +
                " bytes: it is cut off or another file.");
  images.count = bytes.size() / record;
  images.pixels.reserve(images.count * images.bytes_per_image());
  images.labels.reserve(images.count);
  for (std::size_t i = 0; i < images.count; ++i) {
    const auto one = bytes.subspan(i * record, record);
    const std::int64_t label = one[layout.labels - 1];
    if (label >= layout.classes)
      throw Error("this is no " + std::string(layout.name) + " file: record " + std::to_string(i) +
                  " has label " + std::to_string(label) + " and there are " + std::to_string(layout.classes) +
                  " classes: it is damaged or another file.");
    images.labels.push_back(label);
    const auto pixels = one.subspan(layout.labels);
    images.pixels.insert(images.pixels.end(), pixels.begin(), pixels.end());
  }
  return images;
}

Images read_cifar_files(const std::vector<std::string>& paths, Cifar kind) {
  auto all = empty_images(layout_of(kind));
  for (const auto& path : paths) {
    const auto bytes = base::read_file(path);
    try {
      const auto part = read_cifar({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, kind);
      all.count += part.count;
      all.pixels.insert(all.pixels.end(), part.pixels.begin(), part.pixels.end());
      all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
    } catch (const Error& error) {
      throw Error(path + ": " + error.what());
    }
  }
  return all;
}

}  // namespace sadam::data
