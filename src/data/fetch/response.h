// What a server says before the bytes come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sadam::data {

/// Built line by line; a new status line (after a redirection) starts it anew. Numbers in it are only
/// believed where the bytes bear them out.
struct Response {
  int status = 0;
  std::optional<std::uint64_t> length;  ///< Content-Length
  std::optional<std::uint64_t> first;   ///< Content-Range: bytes FIRST-last/all
  std::optional<std::uint64_t> all;     ///< Content-Range: the size of the whole
  std::string etag;                     ///< strong ones alone: a weak one does not promise the same bytes
  std::string modified;                 ///< Last-Modified

  /// Takes one header line. True for the empty line that ends the header.
  bool take(std::string_view line);

  /// What If-Range may name.
  const std::string& validator() const { return etag.empty() ? modified : etag; }
};

}  // namespace sadam::data
