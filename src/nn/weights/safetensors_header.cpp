#include "nn/weights/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "nn/weights/bytes.h"
#include "nn/weights/tensor_file.h"

namespace sadam::weights {
namespace {

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
      throw Error("the header lacks dtype, shape or data_offsets for " + in_quotes(current().name));
    }
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool key(std::string& text) override {
    if (place_ == Place::top && !names_.insert(text).second) {
      throw Error("the header names " + in_quotes(text) + " twice");
    }
    if (place_ == Place::metadata && header.metadata.contains(text)) {
      throw Error("the metadata name " + in_quotes(text) + " twice");
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
        throw Error("the element type " + in_quotes(text) + " of " + in_quotes(current().name) +
                    " is not supported");
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
      throw Error("the header gives " + in_quotes(current().name) + " other than two data_offsets");
    }
    place_ = Place::tensor;
    return true;
  }

  bool number_unsigned(json::number_unsigned_t value) override {
    if (place_ == Place::shape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse("too large a size");
      if (current().shape.size() == max_rank)
        throw Error("the tensor " + in_quotes(current().name) + " has too many dimensions");
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
    throw Error("the header is not valid JSON at its byte " + std::to_string(position));
  }

 private:
  enum class Place { outside, top, tensor, shape, offsets, metadata };

  HeaderTensor& current() { return header.tensors.back(); }

  [[noreturn]] bool refuse(const std::string& what) const {
    throw Error("the header has " + what + (key_.empty() ? " at its start" : " at " + in_quotes(key_)) +
                (place_ == Place::top || header.tensors.empty()
                     ? ""
                     : " of " + in_quotes(header.tensors.back().name)));
  }

  void once(bool& seen) const {
    if (seen)
      throw Error("the header gives " + key_ + " of " + in_quotes(header.tensors.back().name) + " twice");
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

}  // namespace

Header parse_header(std::string_view text) {
  HeaderEvents events;
  json::sax_parse(text.begin(), text.end(), &events);
  return std::move(events.header);
}

std::string json_string(std::string_view text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    throw Error("the name " + in_quotes(text) + " is not valid UTF-8");
  }
}

}  // namespace sadam::weights
