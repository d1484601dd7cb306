// Weight files: what one holds whatever its format, named tensors as plain bytes, and how it is read and
// written. No libtorch here, so that the readers can be fuzzed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::weights {

enum class DType : std::uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  uint8,
  int8,
  int16,
  int32,
  int64,
  boolean
};

/// `float16`, `int64`, ...: for messages.
std::string_view name(DType dtype);

/// Bytes of one element.
std::size_t size(DType dtype);

/// `F16`, `BF16`, ...: as in the header of a safetensors file.
std::string_view safetensors_name(DType dtype);
std::optional<DType> from_safetensors_name(std::string_view text);

/// `torch.HalfStorage`, ...: the class that a .pth file names for a storage.
std::optional<DType> from_storage_class(std::string_view text);

using OwnedBytes = std::shared_ptr<const std::vector<std::byte>>;

struct Tensor {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;  ///< empty for a scalar; no size is negative
  /// The elements, little-endian, row by row, of no particular alignment: exactly the product of the shape
  /// times the size of an element.
  std::span<const std::byte> bytes;
};

struct TensorFile {
  std::vector<Tensor> tensors;  ///< in the order of a .pth's dict, or of their bytes; no name twice
  std::map<std::string, std::string> metadata;  ///< safetensors' `__metadata__`; empty for .pth

  /// What `Tensor::bytes` points into where that is not the caller's buffer: the records of a zip archive,
  /// tensors that were not contiguous in their storage, and the whole file after `read_weights`.
  std::vector<OwnedBytes> owned;
};

/// Bytes that a shape takes; nothing if a size is negative or the product does not fit.
std::optional<std::size_t> byte_count(std::span<const std::int64_t> shape, DType dtype);

/// More dimensions than this are refused, as torch does.
inline constexpr std::size_t kMostDimensions = 64;

// ---- the formats ------------------------------------------------------------------------------------------

/// A safetensors file: eight bytes of header length, a JSON header, then the elements of all tensors, without
/// gap or overlap. The tensors point into `file`, which must outlive them. Throws an Error that says what is
/// wrong with the file.
TensorFile read_safetensors(std::span<const std::byte> file);

/// The bytes of a safetensors file. Wider elements are laid out first, so that all are aligned; otherwise the
/// order is kept. Names are in UTF-8, none twice, and none is "__metadata__".
std::vector<std::byte> write_safetensors(std::span<const Tensor> tensors,
                                         const std::map<std::string, std::string>& metadata = {});

/// Does the file begin like a .pth file, in the zip layout of torch 1.6 and later or the layout before that?
bool looks_like_pth(std::span<const std::byte> file);

/// A .pth or .pt file: a state dict as torch.save writes it, in either layout. Tensors point into `file`,
/// which must outlive them, or into `TensorFile::owned`. Throws an Error that says what is wrong with the
/// file, or what it asks for that is not a dict of tensors; nothing in the file is ever executed. A build
/// without libarchive refuses the zip layout.
TensorFile read_pth(std::span<const std::byte> file);

/// safetensors or .pth, told apart by content and not by the file's name.
TensorFile read_weights(std::span<const std::byte> file);

/// The same for a file, which the result owns. The sentence of every Error names the path.
TensorFile read_weights(const std::filesystem::path& path);

}  // namespace sadam::weights
