#include "nn/weights/tensor_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "nn/weights/bytes.h"

namespace sadam::weights {
namespace {

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

using nlohmann::json;

/// Receives the JSON piece by piece, so that neither depth nor duplicate names escape it and nothing is
/// stored that is not wanted. Each event is allowed in one or two places and refused everywhere else.
class HeaderEvents final : public nlohmann::json_sax<json> {
 public:
  Header header;

  bool start_object(std::size_t /*elements*/) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top) {
      place_ = key_ == "__metadata__" ? Place::metadata : Place::tensor;
      has_dtype_ = has_shape_ = has_offsets_ = false;
      if (place_ == Place::tensor) header.tensors.push_back({.name = key_});
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && !(has_dtype_ && has_shape_ && has_offsets_)) {
      throw Error(
          fmt::format("the header lacks dtype, shape or data_offsets for {}", in_quotes(current().name)));
    }
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool key(std::string& text) override {
    if (place_ == Place::top && !names_.insert(text).second) {
      throw Error(fmt::format("the header names {} twice", in_quotes(text)));
    }
    if (place_ == Place::metadata && header.metadata.contains(text)) {
      throw Error(fmt::format("the metadata name {} twice", in_quotes(text)));
    }
    key_ = std::move(text);
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      header.metadata.emplace(key_, std::move(text));
    } else if (place_ == Place::tensor && key_ == "dtype") {
      once(has_dtype_);
      const auto dtype = from_safetensors_name(text);
      if (!dtype)
        throw Error(fmt::format("the element type {} of {} is not supported", in_quotes(text),
                                in_quotes(current().name)));
      current().dtype = *dtype;
    } else {
      refuse("a string");
    }
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (place_ == Place::tensor && key_ == "shape") {
      once(has_shape_);
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      once(has_offsets_);
      place_ = Place::offsets;
      offsets_seen_ = 0;
    } else {
      refuse("an array");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_seen_ != 2) {
      throw Error(fmt::format("the header gives {} other than two data_offsets", in_quotes(current().name)));
    }
    place_ = Place::tensor;
    return true;
  }

  bool number_unsigned(json::number_unsigned_t value) override {
    if (place_ == Place::shape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse("too large a size");
      if (current().shape.size() == kMostDimensions)
        throw Error(fmt::format("the tensor {} has too many dimensions", in_quotes(current().name)));
      current().shape.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::offsets && offsets_seen_ < 2) {
      (offsets_seen_++ == 0 ? current().begin : current().end) = value;
    } else {
      refuse("a number");
    }
    return true;
  }

  bool number_integer(json::number_integer_t /*value*/) override { return refuse("a negative number"); }
  bool number_float(json::number_float_t /*value*/, const std::string& /*text*/) override {
    return refuse("a number that is not whole or too large");
  }
  bool null() override { return refuse("null"); }
  bool boolean(bool /*value*/) override { return refuse("a truth value"); }
  bool binary(json::binary_t& /*value*/) override { return refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& /*why*/) override {
    throw Error(fmt::format("the header is not valid JSON at its byte {}", position));
  }

 private:
  enum class Place { outside, top, tensor, shape, offsets, metadata };

  HeaderTensor& current() { return header.tensors.back(); }

  [[noreturn]] bool refuse(std::string_view what) const {
    const bool of_tensor = place_ != Place::top && !header.tensors.empty();
    throw Error(fmt::format("the header has {} at {}{}", what, key_.empty() ? "its start" : in_quotes(key_),
                            of_tensor ? fmt::format(" of {}", in_quotes(header.tensors.back().name)) : ""));
  }

  void once(bool& seen) const {
    if (seen)
      throw Error(
          fmt::format("the header gives {} of {} twice", key_, in_quotes(header.tensors.back().name)));
    seen = true;
  }

  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string> names_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  int offsets_seen_ = 0;
};

/// Accepts what the format describes and nothing more. The offsets are as the file gives them, not checked.
Header parse_header(std::string_view text) {
  HeaderEvents events;
  json::sax_parse(text.begin(), text.end(), &events);
  return std::move(events.header);
}

/// With its quotes.
std::string json_string(std::string_view text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    throw Error(fmt::format("the name {} is not valid UTF-8", in_quotes(text)));
  }
}

/// The format's own limit.
constexpr std::uint64_t kLongestHeader = 100'000'000;

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
    const auto refuse = [&](std::string_view sentence) {
      throw Error(fmt::format("the tensor {} {}", in_quotes(tensor->name), sentence));
    };
    if (tensor->end < tensor->begin) refuse("ends before it begins");
    if (tensor->end > data_size) refuse("reaches past the end of the file");
    if (tensor->begin < position) refuse("overlaps another tensor");
    if (tensor->begin > position) refuse("has unused bytes before it");
    if (byte_count(tensor->shape, tensor->dtype) != tensor->end - tensor->begin)
      refuse("has a shape that does not fit its bytes");
    position = tensor->end;
  }
  if (position != data_size) throw Error("there are unused bytes after the last tensor");
}

void check_writable(const Tensor& tensor) {
  if (tensor.name == "__metadata__")
    throw Error("a tensor cannot be called '__metadata__' in a safetensors file");
  if (tensor.shape.size() > kMostDimensions ||
      byte_count(tensor.shape, tensor.dtype) != tensor.bytes.size()) {
    throw Error(fmt::format("the tensor {} has a shape that does not fit its bytes", in_quotes(tensor.name)));
  }
}

/// The JSON, without the spaces that fill it up to a multiple of eight.
std::string header_of(const std::vector<const Tensor*>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata)
      pairs.push_back(fmt::format("{}:{}", json_string(key), json_string(value)));
    entries.push_back(fmt::format(R"("__metadata__":{{{}}})", fmt::join(pairs, ",")));
  }
  std::size_t begin = 0;
  for (const auto* tensor : tensors) {
    const auto end = begin + tensor->bytes.size();
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  json_string(tensor->name), safetensors_name(tensor->dtype),
                                  fmt::join(tensor->shape, ","), begin, end));
    begin = end;
  }
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

}  // namespace

TensorFile read_safetensors(Bytes file) {
  ByteReader reader(file, "the file");
  const auto header_size = reader.number<std::uint64_t>();
  if (header_size > kLongestHeader || header_size > reader.left()) {
    throw Error(
        fmt::format("the file is cut short, or its header's length of {} bytes is wrong", header_size));
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
    if (!names.insert(tensor.name).second)
      throw Error(fmt::format("two tensors are called {}", in_quotes(tensor.name)));
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Tensor* a, const Tensor* b) { return size(a->dtype) > size(b->dtype); });

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
