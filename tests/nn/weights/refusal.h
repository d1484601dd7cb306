// How readers of weights refuse what they are given.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <sadam/error.h>
#include "nn/weights/pth_builder.h"
#include "nn/weights/tensor_file.h"
#include "support/refusal.h"

#ifdef SADAM_HAVE_ARCHIVE
#define SADAM_NEEDS_ARCHIVE() static_cast<void>(0)
#else
#define SADAM_NEEDS_ARCHIVE() GTEST_SKIP() << "built without libarchive, which reads .pth archives"
#endif

namespace sadam::weights::testing {

using sadam::testing::refusal;
using sadam::testing::says;

/// The elements of a tensor, which must be of this type.
template <typename Element>
std::vector<Element> elements_of(const Tensor& tensor) {
  EXPECT_EQ(size(tensor.dtype), sizeof(Element));
  std::vector<Element> result(tensor.bytes.size() / sizeof(Element));
  std::ranges::copy(tensor.bytes, std::as_writable_bytes(std::span(result)).begin());
  return result;
}

/// Every proper prefix of a valid file, each in a buffer of its own, so that a sanitizer sees a read past the
/// end.
template <typename Read>
void expect_every_truncation_refused(const std::string& file, Read read) {
  read(bytes_of(file));
  for (std::size_t length = 0; length < file.size(); ++length) {
    const std::vector<char> part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW(read(std::as_bytes(std::span(part))), Error)
        << "cut after " << length << " of " << file.size();
  }
}

}  // namespace sadam::weights::testing
