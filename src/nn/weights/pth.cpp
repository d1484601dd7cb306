#include "nn/weights/pth.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "nn/weights/bytes.h"
#include "nn/weights/pickle.h"
#include "nn/weights/strided.h"
#include "nn/weights/zip.h"

namespace sadam::weights {
namespace {

constexpr std::string_view zip_magic = "PK\3\4";
/// The old layout begins with a pickle of this one number, after the protocol (two bytes).
constexpr std::string_view legacy_magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr std::int64_t legacy_version = 1001;

bool is_legacy(Bytes file) {
  const auto text = as_text(file.first(std::min(file.size(), legacy_magic.size() + 2)));
  return text.starts_with('\x80') && text.ends_with(legacy_magic) && text.size() == legacy_magic.size() + 2;
}

Bytes checked_storage(const PickledStorage& storage, Bytes bytes) {
  if (bytes.size() % size(storage.dtype) != 0 || bytes.size() / size(storage.dtype) != storage.count) {
    throw Error("the storage " + in_quotes(storage.key) + " has " + std::to_string(bytes.size()) +
                " bytes, which does not fit its " + std::to_string(storage.count) + " elements of " +
                std::string(name(storage.dtype)));
  }
  return bytes;
}

/// Puts names, views and storages together. `storages` are in the order of the unpickler's.
TensorFile assemble(const Unpickler& pickle, const Value& root, const std::vector<Bytes>& storages,
                    std::size_t file_size) {
  TensorFile result;
  ViewReader views(file_size);
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
    const auto& key = pickle.value(root.items[i]);
    const auto& item = pickle.value(root.items[i + 1]);
    if (key.kind != Kind::text)
      throw Error("the state dict has " + std::string(describe(key.kind)) + " as a name");
    if (item.kind != Kind::tensor) {
      throw Error("the entry " + in_quotes(key.text) + " is " + std::string(describe(item.kind)) +
                  ", not a tensor (save the model's state_dict() alone)");
    }
    if (!names.insert(key.text).second) throw Error("the state dict names " + in_quotes(key.text) + " twice");
    const auto& view = pickle.tensors()[static_cast<std::size_t>(item.integer)];
    const auto dtype = pickle.storages()[view.storage].dtype;
    result.tensors.push_back({std::string(key.text), dtype, view.shape,
                              views.read(key.text, view, dtype, storages[view.storage])});
  }
  result.owned = std::move(views.copies);
  return result;
}

/// A sentence for what is no state dict, before the storages are looked for.
void expect_dict(const Value& value) {
  if (value.kind != Kind::dict) {
    throw Error("the file holds " + std::string(describe(value.kind)) + ", not a state dict of tensors");
  }
}

TensorFile read_zip_layout(Bytes file) {
  const ZipArchive archive(file);
  const std::string root(archive.root());
  if (archive.contains(root + "byteorder") && as_text(archive.record(root + "byteorder")) != "little") {
    throw Error("the file was written on a big-endian machine");
  }
  ByteReader reader(archive.record(root + "data.pkl"), "the pickle in data.pkl");
  Unpickler pickle(reader);
  const auto& state = pickle.load();
  expect_dict(state);
  std::vector<Bytes> storages;
  for (const auto& storage : pickle.storages()) {
    storages.push_back(checked_storage(storage, archive.record(root + "data/" + std::string(storage.key))));
  }
  return assemble(pickle, state, storages, file.size());
}

void check_system(const Unpickler& pickle, const Value& info) {
  expect_dict(info);
  for (std::size_t i = 0; i + 1 < info.items.size(); i += 2) {
    const auto& item = pickle.value(info.items[i + 1]);
    if (pickle.value(info.items[i]).text == "little_endian" && item.integer == 0) {
      throw Error("the file was written on a big-endian machine");
    }
  }
}

/// Four pickles (version, system, state dict, list of storage keys), then for each key a count and the
/// elements.
TensorFile read_legacy_layout(Bytes file) {
  ByteReader reader(file, "the file");
  reader.take(legacy_magic.size() + 2);
  Unpickler pickle(reader);
  const auto& version = pickle.load();
  if (version.kind != Kind::integer || version.integer != legacy_version) {
    throw Error("the file is of an unknown version of the old .pth layout");
  }
  check_system(pickle, pickle.load());
  const auto& state = pickle.load();
  expect_dict(state);
  const auto& keys = pickle.load();
  if (keys.kind != Kind::list) throw Error("the file has no list of its storages");

  std::unordered_map<std::string_view, Bytes> storage_of_key;
  std::unordered_map<std::string_view, const PickledStorage*> wanted;
  for (const auto& storage : pickle.storages()) wanted.emplace(storage.key, &storage);
  for (const auto id : keys.items) {
    const auto& key = pickle.value(id);
    const auto found = wanted.find(key.text);
    if (key.kind != Kind::text || found == wanted.end())
      throw Error("the file lists a storage that no tensor uses");
    const auto& storage = *found->second;
    const auto count = reader.number<std::uint64_t>();
    if (count != storage.count)
      throw Error("the storage " + in_quotes(storage.key) + " has two different sizes");
    if (count > reader.left() / size(storage.dtype)) {
      throw Error("the file is cut short in the storage " + in_quotes(storage.key));
    }
    if (!storage_of_key.emplace(storage.key, reader.take(count * size(storage.dtype))).second) {
      throw Error("the file lists the storage " + in_quotes(storage.key) + " twice");
    }
  }
  std::vector<Bytes> storages;
  for (const auto& storage : pickle.storages()) {
    const auto found = storage_of_key.find(storage.key);
    if (found == storage_of_key.end())
      throw Error("the storage " + in_quotes(storage.key) + " is missing from the file");
    storages.push_back(found->second);
  }
  return assemble(pickle, state, storages, file.size());
}

}  // namespace

bool looks_like_pth(Bytes file) { return as_text(file).starts_with(zip_magic) || is_legacy(file); }

TensorFile read_pth(Bytes file) {
  if (as_text(file).starts_with(zip_magic)) return read_zip_layout(file);
  if (is_legacy(file)) return read_legacy_layout(file);
  throw Error("the file does not begin like one that torch.save wrote");
}

}  // namespace sadam::weights
