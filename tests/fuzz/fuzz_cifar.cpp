#include <cstdlib>

#include <sadam/error.h>
#include "data/cifar.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check(std::span<const std::uint8_t> bytes, std::int64_t classes) {
  try {
    const auto images = sadam::data::read_cifar(bytes, classes);
    require(images.count > 0 && images.labels.size() == images.count);
    require(images.pixels.size() == images.count * images.bytes_per_image());
    require(images.pixels.size() + images.count <= bytes.size());
    for (const auto label : images.labels) require(0 <= label && label < images.classes);
  } catch (const sadam::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({data, size}, 10);
  check({data, size}, 100);
  return 0;
}
