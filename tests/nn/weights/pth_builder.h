// Writes .pth files in both layouts, byte by byte, so that tests and fuzzing seeds can have any fault they
// like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"

namespace sadam::weights::testing {

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <typename Number>
std::string little_endian(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

/// Little-endian elements of any type.
template <typename Element>
std::string elements(const std::vector<Element>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Element)};
}

// Pieces of a pickle of protocol 2.
inline std::string text(std::string_view value) {
  return "X" + little_endian(static_cast<std::uint32_t>(value.size())) + std::string(value);
}
inline std::string integer(std::int64_t value) { return "\x8a\x08" + little_endian(value); }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::vector<std::string>& items) {
  std::string result = "(";
  for (const auto& item : items) result += item;
  return result + "t";
}
inline std::string integers(const std::vector<std::int64_t>& items) {
  std::vector<std::string> pickled;
  for (const auto item : items) pickled.push_back(integer(item));
  return tuple(pickled);
}
inline std::string call(const std::string& callee, const std::string& arguments) {
  return callee + arguments + "R";
}
inline std::string pickle(const std::string& value) { return "\x80\x02" + value + "."; }
inline std::string empty_ordered_dict() { return call(global("collections", "OrderedDict"), ")"); }

struct BuiltStorage {
  std::string key = "0";
  std::string storage_class = "FloatStorage";
  std::int64_t count = 0;
  std::string data = {};
};

struct BuiltTensor {
  std::string name;
  BuiltStorage storage;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};

inline std::string storage_id(const BuiltStorage& storage, bool legacy) {
  std::vector<std::string> items{text("storage"), global("torch", storage.storage_class), text(storage.key),
                                 text("cpu"), integer(storage.count)};
  if (legacy) items.emplace_back("N");
  return tuple(items) + "Q";
}

inline std::string pickled_tensor(const BuiltTensor& tensor, bool legacy) {
  return call(global("torch._utils", "_rebuild_tensor_v2"),
              tuple({storage_id(tensor.storage, legacy), integer(tensor.offset), integers(tensor.shape),
                     integers(tensor.strides), "\x89", empty_ordered_dict()}));
}

inline std::string pickled_state(const std::vector<BuiltTensor>& tensors, bool legacy) {
  std::string items;
  for (const auto& tensor : tensors) items += text(tensor.name) + pickled_tensor(tensor, legacy);
  return pickle(empty_ordered_dict() + "(" + items + "u");
}

using Records = std::vector<std::pair<std::string, std::string>>;

/// Stored records, a directory, an end record.
inline std::string zip_archive(const Records& records) {
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  std::string file;
  std::string directory;
  for (const auto& [name, data] : records) {
    const auto size = little_endian(static_cast<U32>(data.size()));
    const auto common = little_endian(U16{0}) + little_endian(U16{0}) + little_endian(U32{0}) +
                        little_endian(base::crc32(bytes_of(data))) + size + size +
                        little_endian(static_cast<U16>(name.size())) + little_endian(U16{0});
    directory += "PK\1\2" + little_endian(U16{0}) + little_endian(U16{0}) + common + std::string(10, '\0') +
                 little_endian(static_cast<U32>(file.size())) + name;
    file += "PK\3\4" + little_endian(U16{0}) + common + name + data;
  }
  const auto count = little_endian(static_cast<U16>(records.size()));
  return file + directory + "PK\5\6" + std::string(4, '\0') + count + count +
         little_endian(static_cast<U32>(directory.size())) + little_endian(static_cast<U32>(file.size())) +
         std::string(2, '\0');
}

/// Around any pickle, with a record for each storage.
inline std::string zip_pth(const std::string& state, const std::vector<BuiltStorage>& storages = {}) {
  Records records{{"archive/data.pkl", state}};
  for (const auto& storage : storages) records.emplace_back("archive/data/" + storage.key, storage.data);
  records.emplace_back("archive/version", "3\n");
  return zip_archive(records);
}

inline std::string legacy_pth(const std::string& state, const std::vector<BuiltStorage>& storages = {}) {
  std::string keys;
  std::string data;
  for (const auto& storage : storages) {
    keys += text(storage.key);
    data += little_endian(storage.count) + storage.data;
  }
  return pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") + pickle(integer(1001)) +
         pickle("}" + text("little_endian") + "\x88s") + state + pickle("](" + keys + "e") + data;
}

/// A file whose tensors all have a storage of their own.
inline std::string pth(const std::vector<BuiltTensor>& tensors, bool legacy) {
  std::vector<BuiltStorage> storages;
  for (const auto& tensor : tensors) storages.push_back(tensor.storage);
  const auto state = pickled_state(tensors, legacy);
  return legacy ? legacy_pth(state, storages) : zip_pth(state, storages);
}

/// One float32 tensor `w` of the given shape over the elements 0, 1, 2, ...
inline BuiltTensor counting(std::int64_t count, std::vector<std::int64_t> shape,
                            std::vector<std::int64_t> strides, std::int64_t offset = 0) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return {"w", {.count = count, .data = elements(values)}, std::move(shape), std::move(strides), offset};
}

}  // namespace sadam::weights::testing
