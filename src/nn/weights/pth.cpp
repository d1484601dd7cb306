#include "nn/weights/tensor_file.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#ifdef SADAM_HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#endif

#include "nn/weights/bytes.h"
#include "nn/weights/pickle.h"

namespace sadam::weights {
namespace {

/// One more than the index of the last element; nothing if that does not fit. The view is not empty.
std::optional<std::uint64_t> end_of(const PickledTensor& view) {
  auto last = static_cast<std::uint64_t>(view.offset);
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(view.shape[i] - 1),
                               static_cast<std::uint64_t>(view.strides[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  if (__builtin_add_overflow(last, 1U, &last)) return std::nullopt;
  return last;
}

/// The product of the shape is known to fit.
bool is_contiguous(const PickledTensor& view) {
  std::int64_t expected = 1;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

/// Walks the view row by row. All of it is known to lie inside the storage.
std::vector<std::byte> gather(const PickledTensor& view, std::size_t element, std::size_t total,
                              Bytes storage) {
  std::vector<std::byte> result(total);
  std::vector<std::int64_t> index(view.shape.size());
  std::int64_t position = view.offset;
  for (std::size_t to = 0; to < total; to += element) {
    std::memcpy(result.data() + to, storage.data() + static_cast<std::size_t>(position) * element, element);
    for (std::size_t i = view.shape.size(); i-- > 0;) {
      if (++index[i] < view.shape[i]) {
        position += view.strides[i];
        break;
      }
      position -= (view.shape[i] - 1) * view.strides[i];
      index[i] = 0;
    }
  }
  return result;
}

/// The tensors of a file, each a view of its storage, as contiguous bytes.
class ViewReader {
 public:
  /// `budget` is how many bytes may be copied in all: the size of the file, which honest tensors never
  /// exceed.
  explicit ViewReader(std::size_t budget) : budget_(budget) {}

  /// The bytes of the view, of which none lies outside the storage: a part of it where they are contiguous
  /// already, otherwise copied together. Throws an Error with the tensor's name.
  Bytes read(std::string_view name, const PickledTensor& view, DType dtype, Bytes storage) {
    const auto total = byte_count(view.shape, dtype);
    if (!total) throw Error(fmt::format("the tensor {} has an impossible shape", in_quotes(name)));
    if (*total == 0) return {};
    const auto element = size(dtype);
    const auto end = end_of(view);
    if (!end || *end > storage.size() / element) {
      throw Error(fmt::format("the tensor {} reaches past the end of its storage", in_quotes(name)));
    }
    if (is_contiguous(view)) return storage.subspan(static_cast<std::size_t>(view.offset) * element, *total);
    if (*total > storage.size()) {
      throw Error(fmt::format("the tensor {} repeats elements of its storage (save a contiguous copy of it)",
                              in_quotes(name)));
    }
    if (*total > budget_) throw Error("the tensors together are larger than the file");
    budget_ -= *total;
    owned.push_back(std::make_shared<const std::vector<std::byte>>(gather(view, element, *total, storage)));
    return *owned.back();
  }

  std::vector<OwnedBytes> owned;

 private:
  std::size_t budget_;
};

constexpr std::string_view kZipMagic = "PK\3\4";
/// The old layout begins with a pickle of this one number, after the protocol (two bytes).
constexpr std::string_view kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr std::int64_t kLegacyVersion = 1001;

bool is_legacy(Bytes file) {
  const auto text = as_text(file.first(std::min(file.size(), kLegacyMagic.size() + 2)));
  return text.starts_with('\x80') && text.ends_with(kLegacyMagic) && text.size() == kLegacyMagic.size() + 2;
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
      throw Error(fmt::format("the state dict has {} as a name", describe(key.kind)));
    if (item.kind != Kind::tensor) {
      throw Error(fmt::format("the entry {} is {}, not a tensor (save the model's state_dict() alone)",
                              in_quotes(key.text), describe(item.kind)));
    }
    if (!names.insert(key.text).second)
      throw Error(fmt::format("the state dict names {} twice", in_quotes(key.text)));
    const auto& view = pickle.tensors()[static_cast<std::size_t>(item.integer)];
    const auto dtype = pickle.storages()[view.storage].dtype;
    result.tensors.push_back({std::string(key.text), dtype, view.shape,
                              views.read(key.text, view, dtype, storages[view.storage])});
  }
  result.owned = std::move(views.owned);
  return result;
}

/// A sentence for what is no state dict, before the storages are looked for.
void expect_dict(const Value& value) {
  if (value.kind != Kind::dict) {
    throw Error(fmt::format("the file holds {}, not a state dict of tensors", describe(value.kind)));
  }
}

#ifdef SADAM_HAVE_ARCHIVE

using Records = std::unordered_map<std::string, OwnedBytes>;

/// What libarchive found wrong, as the end of a sentence.
Error bad_archive(archive* reader, std::string_view what) {
  const char* const reason = archive_error_string(reader);
  return Error(fmt::format("{} (libarchive: {})", what, reason == nullptr ? "no reason given" : reason));
}

std::vector<std::byte> read_record(archive* reader, const std::string& name, std::size_t budget) {
  std::vector<std::byte> bytes;
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  std::vector<std::byte> block(kBlock);
  while (true) {
    const auto got = archive_read_data(reader, block.data(), block.size());
    if (got < 0) throw bad_archive(reader, fmt::format("the record {} is damaged", in_quotes(name)));
    if (got == 0) return bytes;
    if (static_cast<std::size_t>(got) > budget - bytes.size())
      throw Error("the zip archive holds more than its size: it is compressed, which torch.save never does");
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
  }
}

/// While it lives, this thread's names are UTF-8: libarchive loses any name that the locale lacks.
class Utf8Names {
 public:
  Utf8Names() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(::uselocale(locale_)) {}
  ~Utf8Names() {
    ::uselocale(before_);
    if (locale_ != nullptr) ::freelocale(locale_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t locale_;
  locale_t before_;
};

/// Every record of an archive, checked against its checksum. All together may be as large as the file:
/// torch.save compresses nothing, and a small file that grows is made to fill the memory.
Records read_records(Bytes file) {
  const Utf8Names utf8_names;
  const std::unique_ptr<archive, decltype(&archive_read_free)> owner(archive_read_new(), &archive_read_free);
  auto* const reader = owner.get();
  archive_read_support_format_zip_seekable(reader);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // a fuzzer seldom guesses a checksum
  archive_read_set_options(reader, "ignorecrc32");
#endif
  if (archive_read_open_memory(reader, file.data(), file.size()) != ARCHIVE_OK)
    throw bad_archive(reader, "the zip archive is cut short: its directory is missing");
  Records records;
  std::size_t budget = file.size();
  archive_entry* entry = nullptr;
  while (true) {
    const int status = archive_read_next_header(reader, &entry);
    if (status == ARCHIVE_EOF) return records;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
      throw bad_archive(reader, "the zip archive's directory is damaged");
    const char* const name = archive_entry_pathname(entry);
    if (name == nullptr) throw Error("the zip archive has a record without a name");
    if (archive_entry_is_encrypted(entry) != 0)
      throw Error(fmt::format("the record {} of the zip archive is encrypted", in_quotes(name)));
    auto bytes = std::make_shared<const std::vector<std::byte>>(read_record(reader, name, budget));
    budget -= bytes->size();
    if (!records.emplace(name, std::move(bytes)).second)
      throw Error(fmt::format("the zip archive has two records {}", in_quotes(name)));
  }
}

/// The folder that all of torch's records are in, with its slash: that of the only `*/data.pkl`.
std::string root_of(const Records& records) {
  constexpr std::string_view kWanted = "/data.pkl";
  std::string found;
  for (const auto& [name, bytes] : records) {
    if (!name.ends_with(kWanted) || name.find('/') != name.size() - kWanted.size()) continue;
    if (!found.empty()) throw Error("the zip archive has data.pkl in two folders");
    found = name.substr(0, name.size() - kWanted.size() + 1);
  }
  if (found.empty()) throw Error("the zip archive has no data.pkl, so torch.save did not write it");
  return found;
}

Bytes checked_storage(const PickledStorage& storage, Bytes bytes) {
  if (bytes.size() % size(storage.dtype) != 0 || bytes.size() / size(storage.dtype) != storage.count) {
    throw Error(fmt::format("the storage {} has {} bytes, which does not fit its {} elements of {}",
                            in_quotes(storage.key), bytes.size(), storage.count, name(storage.dtype)));
  }
  return bytes;
}

TensorFile read_zip_layout(Bytes file) {
  const auto records = read_records(file);
  const auto root = root_of(records);
  const auto byte_order = records.find(root + "byteorder");
  if (byte_order != records.end() && as_text(*byte_order->second) != "little")
    throw Error("the file was written on a big-endian machine");
  ByteReader reader(*records.at(root + "data.pkl"), "the pickle in data.pkl");
  Unpickler pickle(reader);
  const auto& state = pickle.load();
  expect_dict(state);
  std::vector<Bytes> storages;
  std::vector<OwnedBytes> owned;
  for (const auto& storage : pickle.storages()) {
    const auto name = fmt::format("{}data/{}", root, storage.key);
    const auto found = records.find(name);
    if (found == records.end())
      throw Error(fmt::format("the record {} is missing from the zip archive", in_quotes(name)));
    storages.push_back(checked_storage(storage, *found->second));
    owned.push_back(found->second);
  }
  auto result = assemble(pickle, state, storages, file.size());
  result.owned.insert(result.owned.end(), owned.begin(), owned.end());
  return result;
}

#else

TensorFile read_zip_layout(Bytes /*file*/) {
  throw Error(
      "this sadam was built without libarchive, which reads .pth files: save the weights as safetensors, or "
      "build sadam again with libarchive");
}

#endif

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
  reader.take(kLegacyMagic.size() + 2);
  Unpickler pickle(reader);
  const auto& version = pickle.load();
  if (version.kind != Kind::integer || version.integer != kLegacyVersion) {
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
      throw Error(fmt::format("the storage {} has two different sizes", in_quotes(storage.key)));
    if (count > reader.left() / size(storage.dtype)) {
      throw Error(fmt::format("the file is cut short in the storage {}", in_quotes(storage.key)));
    }
    if (!storage_of_key.emplace(storage.key, reader.take(count * size(storage.dtype))).second) {
      throw Error(fmt::format("the file lists the storage {} twice", in_quotes(storage.key)));
    }
  }
  std::vector<Bytes> storages;
  for (const auto& storage : pickle.storages()) {
    const auto found = storage_of_key.find(storage.key);
    if (found == storage_of_key.end())
      throw Error(fmt::format("the storage {} is missing from the file", in_quotes(storage.key)));
    storages.push_back(found->second);
  }
  return assemble(pickle, state, storages, file.size());
}

}  // namespace

bool looks_like_pth(Bytes file) { return as_text(file).starts_with(kZipMagic) || is_legacy(file); }

TensorFile read_pth(Bytes file) {
  if (as_text(file).starts_with(kZipMagic)) return read_zip_layout(file);
  if (is_legacy(file)) return read_legacy_layout(file);
  throw Error("the file does not begin like one that torch.save wrote");
}

}  // namespace sadam::weights
