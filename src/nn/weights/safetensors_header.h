// The JSON header of a safetensors file, apart from the data it describes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nn/weights/dtype.h"

namespace sadam::weights {

struct HeaderTensor {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0;  ///< of the data, from the end of the header
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Accepts what the format describes and nothing more. The offsets are as the file gives them, not checked.
Header parse_header(std::string_view json);

/// A JSON string, with its quotes.
std::string json_string(std::string_view text);

}  // namespace sadam::weights
