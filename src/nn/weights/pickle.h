// A restricted reader of Python's pickles: plain values, and the few calls of which a state dict of tensors
// is made. Nothing is ever executed; a file that asks for any other call is refused with the name of what it
// asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nn/weights/bytes.h"
#include "nn/weights/tensor_file.h"

namespace sadam::weights {

/// A value by its number. Numbers instead of pointers: pickles may be cyclic and nested to any depth, and
/// this way neither leaks nor recurses.
using ValueId = std::uint32_t;

enum class Kind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  list,
  tuple,
  dict,
  callable,
  storage_class,
  storage,
  tensor
};

/// "a list", "an integer": for messages.
std::string_view describe(Kind kind);

struct Value {
  Kind kind = Kind::none;
  /// boolean, integer; the DType of a storage class; of a storage or tensor the index in the unpickler
  std::int64_t integer = 0;
  std::string_view text = {};       ///< text, which points into the file; the dotted name of a callable
  std::vector<ValueId> items = {};  ///< list, tuple; for dict key, value, key, value, ...
};

/// Named in the pickle, kept elsewhere in the file.
struct PickledStorage {
  DType dtype = DType::float32;
  std::string_view key;
  std::uint64_t count = 0;  ///< elements
};

struct PickledTensor {
  std::size_t storage = 0;  ///< index
  std::int64_t offset = 0;  ///< in elements
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

class Unpickler {
 public:
  explicit Unpickler(ByteReader& reader) : reader_(reader) {}

  /// Reads one pickle. Several may follow each other; values stay valid.
  const Value& load();

  const Value& value(ValueId id) const { return values_[id]; }
  const std::vector<PickledStorage>& storages() const { return storages_; }
  const std::vector<PickledTensor>& tensors() const { return tensors_; }

 private:
  // pickle.cpp: the stack machine.
  void step(std::uint8_t operation);
  bool step_value(std::uint8_t operation);
  bool step_container(std::uint8_t operation);
  bool step_memo(std::uint8_t operation);
  void push(Value value);
  void push_text(std::uint64_t length);
  void push_long(std::uint64_t length);
  void push_tuple(std::size_t count);
  ValueId pop();
  Value& top();
  std::vector<ValueId> pop_to_mark();
  void add_items(Kind kind, const std::vector<ValueId>& items);
  void remember(std::uint64_t key);
  void recall(std::uint64_t key);
  void spend(std::size_t values);

  // pickle_calls.cpp: what may be named and called.
  void push_global(std::string_view module, std::string_view name);
  void push_storage();
  void call();
  Value make_ordered_dict(const Value& arguments);
  Value make_tensor(const Value& arguments);
  void build();
  const Value& argument(const Value& arguments, std::size_t index, Kind kind) const;
  std::vector<std::int64_t> integers(const Value& tuple) const;

  ByteReader& reader_;
  std::deque<Value> values_;  // a deque: references stay valid while values are added
  std::vector<ValueId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, ValueId> memo_;
  std::vector<PickledStorage> storages_;
  std::unordered_map<std::string_view, std::size_t> storage_of_key_;
  std::vector<PickledTensor> tensors_;
  std::size_t spent_ = 0;
};

}  // namespace sadam::weights
