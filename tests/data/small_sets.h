// Small data sets in their official layouts.
#pragma once

#include <string>
#include <vector>

#include "data/jpeg_writer.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace sadam::data::samples {

/// cifar-100-binary with so many images; image i is of class i mod `classes` and of one colour, i mod 256.
inline void write_cifar100(const TemporaryFolder& root, std::size_t train, std::size_t test,
                           std::size_t classes = 100) {
  const auto records = [&](std::size_t count) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < count; ++i) {
      bytes.push_back(std::byte{0});
      bytes.push_back(static_cast<std::byte>(i % classes));
      bytes.insert(bytes.end(), 3072, static_cast<std::byte>(i));
    }
    return bytes;
  };
  root.write("cifar-100-binary/train.bin", records(train));
  root.write("cifar-100-binary/test.bin", records(test));
}

/// Class folders n00, n01, … with so many images of 20 × 12 pixels in each.
inline void write_class_folders(const TemporaryFolder& root, const std::string& folder, std::size_t classes,
                                std::size_t train_each, std::size_t test_each) {
  const auto image = write_jpeg({.width = 20, .height = 12});
  for (std::size_t c = 0; c < classes; ++c) {
    const auto name =
        std::string("/n") + static_cast<char>('0' + c / 10) + static_cast<char>('0' + c % 10) + "/";
    for (std::size_t i = 0; i < train_each; ++i)
      root.write(folder + "/train" + name + std::to_string(i) + ".JPEG", image);
    for (std::size_t i = 0; i < test_each; ++i)
      root.write(folder + "/val" + name + std::to_string(i) + ".JPEG", image);
  }
}

}  // namespace sadam::data::samples
