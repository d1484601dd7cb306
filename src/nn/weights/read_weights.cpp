#include "nn/weights/read_weights.h"

#include <fstream>
#include <memory>

#include "nn/weights/bytes.h"
#include "nn/weights/pth.h"
#include "nn/weights/safetensors.h"

namespace sadam::weights {
namespace {

std::vector<std::byte> read_whole_file(const std::filesystem::path& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) throw Error("there is no such file");
  if (!std::filesystem::is_regular_file(status)) throw Error("it is not a regular file");
  const auto size = std::filesystem::file_size(path, failure);
  std::ifstream stream(path, std::ios::binary);
  if (failure || !stream) throw Error("it cannot be opened for reading");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::size_t>(stream.gcount()) != bytes.size()) throw Error("it cannot be read to its end");
  return bytes;
}

}  // namespace

TensorFile read_weights(Bytes file) {
  constexpr std::size_t length_size = 8;  // of a safetensors header
  if (file.empty()) throw Error("the file is empty");
  if (looks_like_pth(file)) return read_pth(file);
  if (file.size() > length_size && file[length_size] == std::byte{'{'}) return read_safetensors(file);
  throw Error("the file is neither safetensors nor a .pth file of torch.save");
}

TensorFile read_weights(const std::filesystem::path& path) {
  try {
    const auto bytes = std::make_shared<const std::vector<std::byte>>(read_whole_file(path));
    auto file = read_weights(Bytes(*bytes));
    file.owned.push_back(bytes);
    return file;
  } catch (const Error& error) {
    throw Error(path.string() + ": " + error.what());
  }
}

}  // namespace sadam::weights
