// Whether an exception says that a GPU's memory has run out.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <string>

namespace sadam::step {

/// What an exception says, without the stack that torch adds.
inline std::string first_line_of(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

/// Torch's allocator has an exception of its own for it, CUDA and its libraries have only words.
inline bool is_out_of_memory(const std::exception& error) {
  const auto line = first_line_of(error);
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         line.find("out of memory") != std::string::npos || line.find("ALLOC_FAILED") != std::string::npos;
}

}  // namespace sadam::step
