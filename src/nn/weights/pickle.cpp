#include "nn/weights/pickle.h"

#include <fmt/format.h>

#include <array>

namespace sadam::weights {
namespace {

/// Values and items of containers that one file may have; a large network takes a few hundred thousand.
/// Without it a list of a million items, turned into a dict again and again by three bytes each time, would
/// fill the memory.
constexpr std::size_t kMostValues = 4'000'000;

constexpr std::uint8_t kNewestProtocol = 5;

std::uint64_t length_of(std::int32_t length) {
  if (length < 0) throw Error("the pickle has a negative length");
  return static_cast<std::uint64_t>(length);
}

}  // namespace

std::string_view describe(Kind kind) {
  constexpr std::array<std::string_view, 12> kWords{"None",     "a truth value", "an integer", "a number",
                                                    "a string", "a list",        "a tuple",    "a dict",
                                                    "a class",  "a class",       "a storage",  "a tensor"};
  return kWords.at(static_cast<std::size_t>(kind));
}

const Value& Unpickler::load() {
  stack_.clear();
  marks_.clear();
  memo_.clear();
  while (true) {
    const auto operation = reader_.number<std::uint8_t>();
    if (operation == '.') return values_[pop()];
    step(operation);
  }
}

void Unpickler::step(std::uint8_t operation) {
  if (step_value(operation) || step_container(operation) || step_memo(operation)) return;
  switch (operation) {
    case 0x80: {  // PROTO
      const auto protocol = reader_.number<std::uint8_t>();
      if (protocol > kNewestProtocol)
        throw Error(fmt::format("the pickle has the unknown protocol {}", protocol));
      break;
    }
    case 0x95:  // FRAME
      reader_.take(8);
      break;
    case 'i':    // INST, refused below, but by name if the name is not one of ours
    case 'c': {  // GLOBAL
      const auto module = reader_.line();
      push_global(module, reader_.line());
      if (operation == 'i') throw Error("the pickle is of a protocol that torch.save does not use");
      break;
    }
    case 0x93: {  // STACK_GLOBAL
      const auto& name = values_[pop()];
      const auto& module = values_[pop()];
      if (name.kind != Kind::text || module.kind != Kind::text)
        throw Error("the pickle names a class by a non-string");
      push_global(module.text, name.text);
      break;
    }
    case 'Q':  // BINPERSID
      push_storage();
      break;
    case 'R':   // REDUCE
    case 0x81:  // NEWOBJ
      call();
      break;
    case 'b':  // BUILD
      build();
      break;
    default:
      throw Error(
          fmt::format("the pickle has the operation {}, which a state dict does not need", operation));
  }
}

bool Unpickler::step_value(std::uint8_t operation) {
  const auto push_integer = [this](std::int64_t value) { push({.kind = Kind::integer, .integer = value}); };
  switch (operation) {
    case 'N':
      push({});
      return true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push({.kind = Kind::boolean, .integer = operation == 0x88});
      return true;
    case 'J':  // BININT
      push_integer(reader_.number<std::int32_t>());
      return true;
    case 'K':  // BININT1
      push_integer(reader_.number<std::uint8_t>());
      return true;
    case 'M':  // BININT2
      push_integer(reader_.number<std::uint16_t>());
      return true;
    case 0x8a:  // LONG1
      push_long(reader_.number<std::uint8_t>());
      return true;
    case 0x8b:  // LONG4
      push_long(length_of(reader_.number<std::int32_t>()));
      return true;
    case 'G':  // BINFLOAT; nothing that is kept has one, so its value is of no interest
      reader_.take(8);
      push({.kind = Kind::real});
      return true;
    case 'U':   // SHORT_BINSTRING
    case 0x8c:  // SHORT_BINUNICODE
      push_text(reader_.number<std::uint8_t>());
      return true;
    case 'T':  // BINSTRING
      push_text(length_of(reader_.number<std::int32_t>()));
      return true;
    case 'X':  // BINUNICODE
      push_text(reader_.number<std::uint32_t>());
      return true;
    default:
      return false;
  }
}

bool Unpickler::step_container(std::uint8_t operation) {
  switch (operation) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case ']':
      push({.kind = Kind::list});
      return true;
    case '}':
      push({.kind = Kind::dict});
      return true;
    case ')':
      push_tuple(0);
      return true;
    case 0x85:  // TUPLE1, TUPLE2, TUPLE3
    case 0x86:
    case 0x87:
      push_tuple(operation - 0x84U);
      return true;
    case 't': {
      auto items = pop_to_mark();
      spend(items.size());
      push({.kind = Kind::tuple, .items = std::move(items)});
      return true;
    }
    case 'a':  // APPEND
      add_items(Kind::list, {pop()});
      return true;
    case 'e':  // APPENDS
      add_items(Kind::list, pop_to_mark());
      return true;
    case 's': {  // SETITEM
      const auto item = pop();
      const auto key = pop();
      add_items(Kind::dict, {key, item});
      return true;
    }
    case 'u':  // SETITEMS
      add_items(Kind::dict, pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Unpickler::step_memo(std::uint8_t operation) {
  switch (operation) {
    case 'q':  // BINPUT
      remember(reader_.number<std::uint8_t>());
      return true;
    case 'r':  // LONG_BINPUT
      remember(reader_.number<std::uint32_t>());
      return true;
    case 0x94:  // MEMOIZE
      remember(memo_.size());
      return true;
    case 'h':  // BINGET
      recall(reader_.number<std::uint8_t>());
      return true;
    case 'j':  // LONG_BINGET
      recall(reader_.number<std::uint32_t>());
      return true;
    default:
      return false;
  }
}

void Unpickler::spend(std::size_t values) {
  if (values > kMostValues - spent_)
    throw Error(fmt::format("the pickle has more than {} values", kMostValues));
  spent_ += values;
}

void Unpickler::push(Value value) {
  spend(1);
  stack_.push_back(static_cast<ValueId>(values_.size()));
  values_.push_back(std::move(value));
}

void Unpickler::push_text(std::uint64_t length) {
  push({.kind = Kind::text, .text = as_text(reader_.take(length))});
}

void Unpickler::push_long(std::uint64_t length) {
  if (length > sizeof(std::int64_t)) throw Error("the pickle has an integer of more than 64 bits");
  std::uint64_t value = 0;
  const auto bytes = reader_.take(length);
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  // Two's complement of that many bytes: the top bit is the sign.
  const bool negative = !bytes.empty() && (std::to_integer<unsigned>(bytes.back()) & 0x80U) != 0;
  if (negative && bytes.size() < sizeof value) value |= ~std::uint64_t{0} << (8 * bytes.size());
  push({.kind = Kind::integer, .integer = static_cast<std::int64_t>(value)});
}

void Unpickler::push_tuple(std::size_t count) {
  std::vector<ValueId> items(count);
  for (auto i = count; i-- > 0;) items[i] = pop();
  spend(count);
  push({.kind = Kind::tuple, .items = std::move(items)});
}

ValueId Unpickler::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
    throw Error("the pickle takes a value that is not there");
  const auto id = stack_.back();
  stack_.pop_back();
  return id;
}

Value& Unpickler::top() {
  const auto id = pop();
  stack_.push_back(id);
  return values_[id];
}

std::vector<ValueId> Unpickler::pop_to_mark() {
  if (marks_.empty()) throw Error("the pickle ends a group that it did not begin");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<ValueId> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

void Unpickler::add_items(Kind kind, const std::vector<ValueId>& items) {
  auto& container = top();
  if (container.kind != kind)
    throw Error(fmt::format("the pickle adds items to {}", describe(container.kind)));
  if (kind == Kind::dict && items.size() % 2 != 0) throw Error("the pickle has a dict key without a value");
  spend(items.size());
  container.items.insert(container.items.end(), items.begin(), items.end());
}

void Unpickler::remember(std::uint64_t key) {
  top();
  memo_[key] = stack_.back();
}

void Unpickler::recall(std::uint64_t key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) throw Error("the pickle refers to a value that it does not have");
  stack_.push_back(found->second);
}

}  // namespace sadam::weights
