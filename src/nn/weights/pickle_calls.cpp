// What a pickle may name and call: see pickle.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "nn/weights/pickle.h"

namespace sadam::weights {
namespace {

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor";
constexpr std::string_view kRebuildTensorV2 = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kOldParameter = "torch.nn.parameter.Parameter";  // files of 2017
constexpr std::array kCallables{kOrderedDict, kRebuildTensor, kRebuildTensorV2, kRebuildParameter,
                                kOldParameter};

}  // namespace

void Unpickler::push_global(std::string_view module, std::string_view name) {
  // Nothing to gain from a long name but a long message.
  constexpr std::size_t kLongest = 100;
  const auto full = fmt::format("{}.{}", module.substr(0, kLongest), name.substr(0, kLongest));
  if (const auto dtype = from_storage_class(full)) {
    push({.kind = Kind::storage_class, .integer = static_cast<std::int64_t>(*dtype)});
    return;
  }
  const auto* const found = std::find(kCallables.begin(), kCallables.end(), full);
  if (found == kCallables.end()) {
    throw Error(
        fmt::format("the file asks to call {}, but only state dicts of tensors are read", in_quotes(full)));
  }
  push({.kind = Kind::callable, .text = *found});
}

void Unpickler::call() {
  const auto& arguments = values_[pop()];
  const auto& callee = values_[pop()];
  if (callee.kind != Kind::callable || arguments.kind != Kind::tuple) {
    throw Error(fmt::format("the pickle calls {} with {}", describe(callee.kind), describe(arguments.kind)));
  }
  if (callee.text == kOrderedDict) {
    push(make_ordered_dict(arguments));
  } else if (callee.text == kRebuildTensor || callee.text == kRebuildTensorV2) {
    push(make_tensor(arguments));
  } else {
    push(argument(arguments, 0,
                  Kind::tensor));  // a parameter is its tensor; the rest says whether it has a gradient
  }
}

const Value& Unpickler::argument(const Value& arguments, std::size_t index, Kind kind) const {
  if (index >= arguments.items.size()) throw Error("the pickle makes a call with too few arguments");
  const auto& given = values_[arguments.items[index]];
  if (given.kind != kind) {
    throw Error(fmt::format("the pickle passes {} where {} belongs", describe(given.kind), describe(kind)));
  }
  return given;
}

/// Empty, or, as Python 2 wrote it, from one list of pairs.
Value Unpickler::make_ordered_dict(const Value& arguments) {
  Value result{.kind = Kind::dict};
  if (arguments.items.empty()) return result;
  const auto& pairs = argument(arguments, 0, Kind::list);
  spend(2 * pairs.items.size());
  for (const auto id : pairs.items) {
    const auto& pair = values_[id];
    if ((pair.kind != Kind::list && pair.kind != Kind::tuple) || pair.items.size() != 2) {
      throw Error("the pickle makes a dict of something other than pairs");
    }
    result.items.insert(result.items.end(), pair.items.begin(), pair.items.end());
  }
  return result;
}

std::vector<std::int64_t> Unpickler::integers(const Value& tuple) const {
  if (tuple.items.size() > kMostDimensions) throw Error("the pickle has a tensor of too many dimensions");
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < tuple.items.size(); ++i) {
    result.push_back(argument(tuple, i, Kind::integer).integer);
    if (result.back() < 0) throw Error("the pickle has a tensor with a negative size or stride");
  }
  return result;
}

/// (storage, offset, sizes, strides, ...); whether it has a gradient and backward hooks is of no interest
/// here.
Value Unpickler::make_tensor(const Value& arguments) {
  PickledTensor tensor;
  tensor.storage = static_cast<std::size_t>(argument(arguments, 0, Kind::storage).integer);
  tensor.offset = argument(arguments, 1, Kind::integer).integer;
  tensor.shape = integers(argument(arguments, 2, Kind::tuple));
  tensor.strides = integers(argument(arguments, 3, Kind::tuple));
  if (tensor.offset < 0) throw Error("the pickle has a tensor with a negative offset");
  if (tensor.shape.size() != tensor.strides.size())
    throw Error("the pickle has a tensor with more or fewer strides than sizes");
  spend(2 * tensor.shape.size());
  tensors_.push_back(std::move(tensor));
  return {.kind = Kind::tensor, .integer = static_cast<std::int64_t>(tensors_.size() - 1)};
}

/// ('storage', class, key, device, number of elements), and in the old layout a view of another storage or
/// None.
void Unpickler::push_storage() {
  const auto& id = values_[pop()];
  if (id.kind != Kind::tuple || argument(id, 0, Kind::text).text != "storage") {
    throw Error("the pickle refers to something other than a storage");
  }
  PickledStorage storage;
  storage.dtype = static_cast<DType>(argument(id, 1, Kind::storage_class).integer);
  storage.key = argument(id, 2, Kind::text).text;
  const auto count = argument(id, 4, Kind::integer).integer;
  if (count < 0) throw Error("the pickle has a storage of a negative size");
  storage.count = static_cast<std::uint64_t>(count);
  if (id.items.size() > 5) argument(id, 5, Kind::none);

  const auto [known, is_new] = storage_of_key_.emplace(storage.key, storages_.size());
  if (is_new) {
    storages_.push_back(storage);
  } else if (const auto& before = storages_[known->second];
             before.dtype != storage.dtype || before.count != storage.count) {
    throw Error(fmt::format("the pickle describes the storage {} in two ways", in_quotes(storage.key)));
  }
  push({.kind = Kind::storage, .integer = static_cast<std::int64_t>(known->second)});
}

/// Attributes: `_metadata` of a module's state dict, the gradient flags of an old parameter. Neither is kept.
void Unpickler::build() {
  pop();
  const auto kind = top().kind;
  if (kind != Kind::dict && kind != Kind::tensor) {
    throw Error(fmt::format("the pickle sets attributes of {}", describe(kind)));
  }
}

}  // namespace sadam::weights
