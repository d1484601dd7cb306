// A tensor that is a view of its storage, as contiguous bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "nn/weights/dtype.h"
#include "nn/weights/pickle.h"

namespace sadam::weights {

class ViewReader {
 public:
  /// `budget` is how many bytes may be copied in all: the size of the file, which honest tensors never
  /// exceed.
  explicit ViewReader(std::size_t budget) : budget_(budget) {}

  /// The bytes of the view, of which none lies outside the storage: a part of it where they are contiguous
  /// already, otherwise copied together. Throws an Error with the tensor's name.
  std::span<const std::byte> read(std::string_view name, const PickledTensor& view, DType dtype,
                                  std::span<const std::byte> storage);

  std::vector<std::shared_ptr<const std::vector<std::byte>>> copies;

 private:
  std::size_t budget_;
};

}  // namespace sadam::weights
