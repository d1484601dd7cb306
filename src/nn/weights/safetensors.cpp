#include "nn/weights/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "nn/weights/bytes.h"

namespace sadam::weights {
namespace {

using nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

/// The format's own limit.
constexpr std::uint64_t kLongestHeader = 100'000'000;

/// No name may be given twice, of which JSON keeps the last, nothing lies deeper than the numbers of a
/// tensor, and no list is longer than a shape may be: none of this escapes the parser.
json parse_header(std::string_view text) {
  std::vector<std::set<std::string>> names;  // of the objects that surround the place
  std::size_t numbers = 0;                   // of the list that surrounds it
  const auto watch = [&](int depth, json::parse_event_t event, json& name) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth > 2) throw Error("the header is nested too deeply");
      names.resize(static_cast<std::size_t>(depth));
      names.emplace_back();
      numbers = 0;
    } else if (event == Event::value && depth == 3 && ++numbers > kMostDimensions + 1) {
      throw Error("the header has a list that is too long for a shape");
    } else if (event == Event::key && !names.at(static_cast<std::size_t>(depth) - 1).insert(name).second) {
      throw Error(fmt::format("the header names {} twice", in_quotes(name.get<std::string>())));
    }
    return true;
  };
  try {
    auto header = json::parse(text, watch);
    if (!header.is_object()) throw Error("the header is not a JSON object");
    return header;
  } catch (const json::parse_error& error) {
    throw Error(fmt::format("the header is not valid JSON at its byte {}", error.byte));
  } catch (const json::out_of_range&) {
    throw Error("the header has a number that no double can hold");
  }
}

std::map<std::string, std::string> metadata_in(const json& entries) {
  if (!entries.is_object()) throw Error("the metadata are not a JSON object");
  for (const auto& [key, value] : entries.items()) {
    if (!value.is_string()) throw Error(fmt::format("the metadata have no text at {}", in_quotes(key)));
  }
  return entries;
}

struct HeaderTensor {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0;  ///< of the data, from the end of the header
  std::uint64_t end = 0;

  [[noreturn]] void refuse(std::string_view sentence) const {
    throw Error(fmt::format("the tensor {} {}", in_quotes(name), sentence));
  }
};

/// What the format describes and nothing more. The offsets are as the file gives them, not checked.
HeaderTensor tensor_in(const std::string& name, const json& entry) {
  HeaderTensor tensor{.name = name};
  const auto field = [&](const char* key) -> const json& {
    if (!entry.is_object() || entry.size() != 3 || !entry.contains(key))
      tensor.refuse("needs dtype, shape and data_offsets, and nothing else");
    return entry.at(key);
  };
  const auto numbers = [&](const char* key) {
    const auto& list = field(key);
    if (!list.is_array() || !std::ranges::all_of(list, &json::is_number_unsigned))
      tensor.refuse(fmt::format("needs a list of whole numbers, none negative, as its {}", key));
    return list.get<std::vector<std::uint64_t>>();
  };
  const auto& type = field("dtype");
  const auto dtype = type.is_string() ? from_safetensors_name(type.get<std::string>()) : std::nullopt;
  if (!dtype) {
    const auto given = in_quotes(type.is_string() ? type.get<std::string>() : type.dump());
    tensor.refuse(fmt::format("has the element type {}, which is not supported", given));
  }
  tensor.dtype = *dtype;
  const auto shape = numbers("shape");
  if (shape.size() > kMostDimensions) tensor.refuse("has too many dimensions");
  tensor.shape.assign(shape.begin(), shape.end());
  const auto offsets = numbers("data_offsets");
  if (offsets.size() != 2) tensor.refuse("has other than two data_offsets");
  tensor.begin = offsets[0];
  tensor.end = offsets[1];
  return tensor;
}

/// The JSON, without the spaces that fill it up to a multiple of eight.
std::string header_of(const std::vector<const Tensor*>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  auto header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::size_t begin = 0;
  for (const auto* tensor : tensors) {
    const auto end = begin + tensor->bytes.size();
    header[tensor->name] = {
        {"dtype", safetensors_name(tensor->dtype)}, {"shape", tensor->shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  return header.dump();
}

}  // namespace

TensorFile read_safetensors(Bytes file) {
  ByteReader reader(file, "the file");
  const auto header_size = reader.number<std::uint64_t>();
  if (header_size > kLongestHeader || header_size > reader.left()) {
    throw Error(
        fmt::format("the file is cut short, or its header's length of {} bytes is wrong", header_size));
  }
  const auto header = parse_header(as_text(reader.take(header_size)));
  const auto data = reader.take(reader.left());

  TensorFile result;
  std::vector<HeaderTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      result.metadata = metadata_in(entry);
    } else {
      tensors.push_back(tensor_in(name, entry));
    }
  }
  // They must lie end to end from the first byte to the last.
  std::ranges::sort(tensors, {},
                    [](const HeaderTensor& tensor) { return std::pair(tensor.begin, tensor.end); });
  std::uint64_t position = 0;
  for (auto& tensor : tensors) {
    if (tensor.end < tensor.begin) tensor.refuse("ends before it begins");
    if (tensor.end > data.size()) tensor.refuse("reaches past the end of the file");
    if (tensor.begin < position) tensor.refuse("overlaps another tensor");
    if (tensor.begin > position) tensor.refuse("has unused bytes before it");
    const auto size = tensor.end - tensor.begin;
    if (byte_count(tensor.shape, tensor.dtype) != size)
      tensor.refuse("has a shape that does not fit its bytes");
    position = tensor.end;
    result.tensors.push_back(
        {std::move(tensor.name), tensor.dtype, std::move(tensor.shape),
         data.subspan(static_cast<std::size_t>(tensor.begin), static_cast<std::size_t>(size))});
  }
  if (position != data.size()) throw Error("there are unused bytes after the last tensor");
  return result;
}

std::vector<std::byte> write_safetensors(std::span<const Tensor> tensors,
                                         const std::map<std::string, std::string>& metadata) {
  std::vector<const Tensor*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::greater(), [](const Tensor* tensor) { return size(tensor->dtype); });

  auto header = header_of(order, metadata);
  header.append((8 - header.size() % 8) % 8, ' ');

  const std::uint64_t header_size = header.size();
  std::size_t total = sizeof header_size + header.size();
  for (const auto* tensor : order) total += tensor->bytes.size();
  std::vector<std::byte> file(total);
  auto end = file.begin();
  const auto put = [&](Bytes bytes) { end = std::copy(bytes.begin(), bytes.end(), end); };
  put(std::as_bytes(std::span(&header_size, 1)));
  put(std::as_bytes(std::span(header)));
  for (const auto* tensor : order) put(tensor->bytes);
  return file;
}

}  // namespace sadam::weights
