#include "data/cifar.h"

#include <fmt/format.h>
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
  switch (kind) {
    case Cifar::ten:
      return {"CIFAR-10", 1, 10};
    case Cifar::hundred:
      return {"CIFAR-100", 2, 100};
  }
  throw Error("there is no such kind of CIFAR file.");
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
    throw Error(fmt::format(
        "this is no {} file: {} bytes are no whole number of records of {} bytes: it is cut off or another "
        "file.",
        layout.name, bytes.size(), record));
  images.count = bytes.size() / record;
  images.pixels.reserve(images.count * images.bytes_per_image());
  images.labels.reserve(images.count);
  for (std::size_t i = 0; i < images.count; ++i) {
    const auto one = bytes.subspan(i * record, record);
    const std::int64_t label = one[layout.labels - 1];
    if (label >= layout.classes)
      throw Error(
          fmt::format("this is no {} file: record {} has label {} and there are {} classes: it is damaged or "
                      "another file.",
                      layout.name, i, label, layout.classes));
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
      throw Error(fmt::format("{}: {}", path, error.what()));
    }
  }
  return all;
}

}  // namespace sadam::data
