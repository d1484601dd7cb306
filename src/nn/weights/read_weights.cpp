#include "nn/weights/tensor_file.h"

#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "nn/weights/bytes.h"

namespace sadam::weights {

TensorFile read_weights(Bytes file) {
  constexpr std::size_t kLengthSize = 8;  // of a safetensors header
  if (file.empty()) throw Error("the file is empty");
  if (looks_like_pth(file)) return read_pth(file);
  if (file.size() > kLengthSize && file[kLengthSize] == std::byte{'{'}) return read_safetensors(file);
  throw Error("the file is neither safetensors nor a .pth file of torch.save");
}

TensorFile read_weights(const std::filesystem::path& path) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(base::read_file(path));
  try {
    auto file = read_weights(Bytes(*bytes));
    file.owned.push_back(bytes);
    return file;
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace sadam::weights
