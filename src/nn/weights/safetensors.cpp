#include "nn/weights/safetensors.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "nn/weights/bytes.h"
#include "nn/weights/safetensors_header.h"

namespace sadam::weights {
namespace {

/// The format's own limit.
constexpr std::uint64_t longest_header = 100'000'000;

/// The tensors, in the order of their data, must lie end to end from the first byte to the last.
void check_layout(const Header& header, std::uint64_t data_size) {
  std::vector<const HeaderTensor*> order;
  order.reserve(header.tensors.size());
  for (const auto& tensor : header.tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const HeaderTensor* a, const HeaderTensor* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t position = 0;
  for (const auto* tensor : order) {
    const auto label = "the tensor " + in_quotes(tensor->name);
    if (tensor->end < tensor->begin) throw Error(label + " ends before it begins");
    if (tensor->end > data_size) throw Error(label + " reaches past the end of the file");
    if (tensor->begin < position) throw Error(label + " overlaps another tensor");
    if (tensor->begin > position) throw Error("there are unused bytes before " + label);
    if (byte_count(tensor->shape, tensor->dtype) != tensor->end - tensor->begin) {
      throw Error(label + " has a shape that does not fit its bytes");
    }
    position = tensor->end;
  }
  if (position != data_size) throw Error("there are unused bytes after the last tensor");
}

void check_writable(const Tensor& tensor) {
  if (tensor.name == "__metadata__")
    throw Error("a tensor cannot be called '__metadata__' in a safetensors file");
  if (tensor.shape.size() > max_rank || byte_count(tensor.shape, tensor.dtype) != tensor.bytes.size()) {
    throw Error("the tensor " + in_quotes(tensor.name) + " has a shape that does not fit its bytes");
  }
}

void append_tensor(std::string& header, const Tensor& tensor, std::size_t begin) {
  header += json_string(tensor.name);
  header += R"(:{"dtype":")";
  header += safetensors_name(tensor.dtype);
  header += R"(","shape":[)";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) header += ',';
    header += std::to_string(tensor.shape[i]);
  }
  header += R"(],"data_offsets":[)";
  header += std::to_string(begin);
  header += ',';
  header += std::to_string(begin + tensor.bytes.size());
  header += "]},";
}

void append_metadata(std::string& header, const std::map<std::string, std::string>& metadata) {
  header += R"("__metadata__":{)";
  for (const auto& [key, value] : metadata) {
    header += json_string(key);
    header += ':';
    header += json_string(value);
    header += ',';
  }
  header.back() = '}';
  header += ',';
}

}  // namespace

TensorFile read_safetensors(Bytes file) {
  ByteReader reader(file, "the file");
  const auto header_size = reader.number<std::uint64_t>();
  if (header_size > longest_header || header_size > reader.left()) {
    throw Error("the file is cut short, or its header's length of " + std::to_string(header_size) +
                " bytes is wrong");
  }
  auto header = parse_header(as_text(reader.take(header_size)));
  const auto data = reader.take(reader.left());
  check_layout(header, data.size());

  TensorFile result;
  result.metadata = std::move(header.metadata);
  result.tensors.reserve(header.tensors.size());
  for (auto& tensor : header.tensors) {
    result.tensors.push_back({std::move(tensor.name), tensor.dtype, std::move(tensor.shape),
                              data.subspan(static_cast<std::size_t>(tensor.begin),
                                           static_cast<std::size_t>(tensor.end - tensor.begin))});
  }
  return result;
}

std::vector<std::byte> write_safetensors(std::span<const Tensor> tensors,
                                         const std::map<std::string, std::string>& metadata) {
  std::vector<const Tensor*> order;
  std::set<std::string_view> names;
  for (const auto& tensor : tensors) {
    check_writable(tensor);
    if (!names.insert(tensor.name).second) throw Error("two tensors are called " + in_quotes(tensor.name));
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Tensor* a, const Tensor* b) { return size(a->dtype) > size(b->dtype); });

  std::string header = "{";
  if (!metadata.empty()) append_metadata(header, metadata);
  std::size_t data_size = 0;
  for (const auto* tensor : order) {
    append_tensor(header, *tensor, data_size);
    data_size += tensor->bytes.size();
  }
  if (header.back() == ',') header.pop_back();
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');

  const std::uint64_t header_size = header.size();
  std::vector<std::byte> file(sizeof header_size + header.size() + data_size);
  std::size_t position = 0;
  const auto put = [&](Bytes bytes) {
    std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(position));
    position += bytes.size();
  };
  put(std::as_bytes(std::span(&header_size, 1)));
  put(std::as_bytes(std::span(header)));
  for (const auto* tensor : order) put(tensor->bytes);
  return file;
}

}  // namespace sadam::weights
