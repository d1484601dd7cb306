// Files that torch.save wrote (fixtures/, torch 1.13) and files built by hand as other versions write them.
#include "support/find_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "nn/weights/refusal.h"
#include "nn/weights/tensor_file.h"

namespace sadam::weights {
namespace {

using testing::BuiltStorage;
using testing::bytes_of;
using testing::call;
using testing::counting;
using testing::elements;
using testing::elements_of;
using testing::empty_ordered_dict;
using testing::global;
using testing::integer;
using testing::integers;
using testing::legacy_pth;
using testing::little_endian;
using testing::pickle;
using testing::pth;
using testing::refusal;
using testing::says;
using testing::storage_id;
using testing::text;
using testing::tuple;
using testing::zip_pth;

using Floats = std::vector<float>;
using Shape = std::vector<std::int64_t>;

std::string fixture(const std::string& name) {
  std::ifstream stream("fixtures/" + name, std::ios::binary);
  EXPECT_TRUE(stream) << "run from tests/nn/weights";
  return {std::istreambuf_iterator<char>(stream), {}};
}

template <typename Element = float>
void expect_tensor(const TensorFile& file, const std::string& name, const Shape& shape,
                   const std::vector<Element>& values) {
  SCOPED_TRACE(name);
  const auto* const tensor = find(file, name);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, shape);
  EXPECT_EQ(elements_of<Element>(*tensor), values);
}

class Pth : public ::testing::TestWithParam<const char*> {
  void SetUp() override {
    if (GetParam() == std::string("zip")) SADAM_NEEDS_ARCHIVE();
  }
};

TEST_P(Pth, AStateDictOfTorchIsRead) {
  const auto bytes = fixture("state_dict_" + std::string(GetParam()) + ".pth");
  const auto file = read_pth(bytes_of(bytes));
  std::vector<std::string> names;
  for (const auto& tensor : file.tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv.weight", "conv.bias", "bn.weight", "bn.bias",
                                             "bn.running_mean", "bn.running_var", "bn.num_batches_tracked"}));
  expect_tensor(file, "conv.weight", {2, 1, 2, 2}, {-1, -0.75F, -0.5F, -0.25F, 0, 0.25F, 0.5F, 0.75F});
  expect_tensor(file, "conv.bias", {2}, {0.5F, -0.25F});
  expect_tensor(file, "bn.weight", {2}, {1, 1});
  expect_tensor(file, "bn.running_mean", {2}, {1.5F, 2.5F});
  const auto& count = file.tensors.back();
  EXPECT_EQ(count.dtype, DType::int64);
  EXPECT_TRUE(count.shape.empty());
  std::int64_t value = 0;
  ASSERT_EQ(count.bytes.size(), sizeof value);
  std::memcpy(&value, count.bytes.data(), sizeof value);
  EXPECT_EQ(value, 7);
}

TEST_P(Pth, EveryTypeAndViewOfTorchIsRead) {
  const auto bytes = fixture("plain_dict_" + std::string(GetParam()) + ".pth");
  const auto file = read_pth(bytes_of(bytes));
  EXPECT_EQ(file.tensors.size(), 8U);
  expect_tensor<std::uint16_t>(file, "half", {3}, {0x3c00, 0xc000, 0x7bff});
  EXPECT_EQ(find(file, "half")->dtype, DType::float16);
  expect_tensor<std::uint16_t>(file, "brain", {2}, {0x3f80, 0xc060});
  EXPECT_EQ(find(file, "brain")->dtype, DType::bfloat16);
  expect_tensor<double>(file, "double", {1}, {0.1});
  EXPECT_EQ(find(file, "double")->dtype, DType::float64);
  expect_tensor(file, "scalar", {}, {3.25F});
  expect_tensor(file, "empty", {0, 3}, {});
  expect_tensor(file, "transposed", {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_tensor(file, "slice", {3}, {2, 3, 4});
  expect_tensor(file, "parameter", {1}, {9});
}

TEST_P(Pth, EveryTruncationIsRefused) {
  const auto read = [](auto bytes) { return read_pth(bytes); };
  testing::expect_every_truncation_refused(fixture("state_dict_" + std::string(GetParam()) + ".pth"), read);
  const bool legacy = std::string(GetParam()) == "legacy";
  testing::expect_every_truncation_refused(pth({counting(2, {2}, {1})}, legacy), read);
}

/// With a byte wrong a file is refused, or read as tensors whose bytes fit their shapes. In the zip layout
/// those bytes are the right ones, for they have checksums; the old layout has none, but a wrong byte there
/// spoils one element at most or is in a description.
TEST_P(Pth, AWrongByteIsRefusedOrSpoilsNoMoreThanItself) {
  const auto good = fixture("plain_dict_" + std::string(GetParam()) + ".pth");
  const auto right = read_pth(bytes_of(good));
  const bool has_checksums = std::string(GetParam()) == "zip";
  std::size_t refused = 0;
  std::size_t read = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      auto bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      try {
        const auto file = read_pth(bytes_of(bad));
        ++read;
        for (const auto& tensor : file.tensors) {
          ASSERT_EQ(byte_count(tensor.shape, tensor.dtype), tensor.bytes.size()) << "byte " << i;
          const auto* const twin = find(right, tensor.name);
          const bool same = twin != nullptr && std::ranges::equal(twin->bytes, tensor.bytes);
          ASSERT_TRUE(same || !has_checksums) << "byte " << i;
        }
      } catch (const Error& error) {
        ++refused;
        ASSERT_NE(std::string(error.what()), "") << "byte " << i;
      }
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(read, 0U);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Pth, ::testing::Values("zip", "legacy"),
                         [](const auto& layout) { return std::string(layout.param); });

TEST(PthVersions, Python2AndTorchOf2017AreRead) {
  // OrderedDict from a list of pairs, byte strings as names, Parameter as a class with a state.
  const BuiltStorage storage{.key = "7", .count = 2, .data = elements<float>({1, 2})};
  const auto tensor = call(global("torch._utils", "_rebuild_tensor"),
                           tuple({storage_id(storage, true), integer(0), integers({2}), integers({1})}));
  const auto parameter = call(global("torch.nn.parameter", "Parameter"), tuple({tensor})) +
                         tuple({"\x88", "\x89", empty_ordered_dict()}) + "b";
  const auto pairs = "](]U\1w" + std::string("a") + parameter + "ae";
  const auto file = legacy_pth(pickle(call(global("collections", "OrderedDict"), tuple({pairs}))), {storage});
  expect_tensor(read_pth(bytes_of(file)), "w", {2}, {1, 2});
}

TEST(PthVersions, Protocol4IsRead) {
  SADAM_NEEDS_ARCHIVE();
  const BuiltStorage storage{.count = 1, .data = elements<float>({4})};
  const auto stack_global = [](const std::string& module, const std::string& name) {
    return text(module) + text(name) + "\x93";
  };
  const auto id =
      tuple({text("storage"), stack_global("torch", "FloatStorage"), text("0"), text("cpu"), "K\1"}) + "Q";
  const auto tensor =
      call(stack_global("torch._utils", "_rebuild_tensor_v2"),
           tuple({id, std::string("K\0", 2), "K\1\x85", "K\1\x85", "\x89", empty_ordered_dict()}));
  const auto state = "\x80\x04\x95" + std::string(8, '\0') + "}\x94\x8c\1w" + tensor + "s.";
  const auto file = zip_pth(state, {storage});
  expect_tensor(read_pth(bytes_of(file)), "w", {1}, {4});
}

/// Files of more than 4 GB: the numbers are in an extra field of each entry and in a second end record.
TEST(PthVersions, SixtyFourBitArchivesAreRead) {
  SADAM_NEEDS_ARCHIVE();
  const auto tensor = counting(2, {2}, {1});
  const auto narrow = pth({tensor}, false);
  const auto read_u32 = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, narrow.data() + at, sizeof value);
    return std::uint64_t{value};
  };
  const auto end = narrow.rfind("PK\5\6");
  const auto begin = read_u32(end + 16);
  std::string directory;
  std::uint64_t entries = 0;
  for (std::size_t at = begin; at < end; ++entries) {
    auto entry = narrow.substr(at, 46);
    const auto name_length = static_cast<unsigned char>(entry[28]);
    const auto extra = little_endian(std::uint16_t{1}) + little_endian(std::uint16_t{24}) +
                       little_endian(read_u32(at + 24)) + little_endian(read_u32(at + 20)) +
                       little_endian(read_u32(at + 42));
    entry.replace(20, 8, std::string(8, '\xff')).replace(42, 4, std::string(4, '\xff'));
    entry[30] = static_cast<char>(extra.size());
    directory += entry + narrow.substr(at + 46, name_length) + extra;
    at += 46U + name_length;
  }
  const auto wide_end = "PK\6\6" + little_endian(std::uint64_t{44}) + std::string(12, '\0') +
                        little_endian(entries) + little_endian(entries) +
                        little_endian(std::uint64_t{directory.size()}) + little_endian(begin);
  const auto locator = "PK\6\7" + std::string(4, '\0') + little_endian(begin + directory.size()) +
                       little_endian(std::uint32_t{1});
  const auto end_record = "PK\5\6" + std::string(4, '\0') + std::string(12, '\xff') + std::string(2, '\0');
  const auto wide = narrow.substr(0, begin) + directory + wide_end + locator + end_record;
  testing::expect_every_truncation_refused(wide, [](auto bytes) { return read_pth(bytes); });
  expect_tensor(read_pth(bytes_of(wide)), "w", {2}, {0, 1});
}

TEST(PthVersions, TiedTensorsShareAStorage) {
  SADAM_NEEDS_ARCHIVE();
  auto first = counting(3, {3}, {1});
  auto second = counting(3, {2}, {1}, 1);
  second.name = "v";
  const auto file = zip_pth(testing::pickled_state({first, second}, false), {first.storage});
  const auto read = read_pth(bytes_of(file));
  expect_tensor(read, "w", {3}, {0, 1, 2});
  expect_tensor(read, "v", {2}, {1, 2});
}

TEST(PthRefuses, CallsByName) {
  SADAM_NEEDS_ARCHIVE();
  for (const auto& [module, name] : {std::pair("os", "system"),
                                     {"posix", "system"},
                                     {"builtins", "eval"},
                                     {"torch", "load"},
                                     {"collections", "OrderedDict.fromkeys"}}) {
    const auto state = pickle(call(global(module, name), tuple({text("touch /tmp/owned")})));
    const auto expected = "the file asks to call '" + std::string(module) + "." + name + "'";
    const auto zip = zip_pth(state);
    const auto legacy = legacy_pth(state);
    EXPECT_TRUE(says(refusal([&] { read_pth(bytes_of(zip)); }), expected));
    EXPECT_TRUE(says(refusal([&] { read_pth(bytes_of(legacy)); }), expected));
  }
  const auto inst = zip_pth(pickle("(ios\nsystem\n"));
  EXPECT_TRUE(says(refusal([&] { read_pth(bytes_of(inst)); }), "'os.system'"));
}

TEST(PthRefuses, AWholeModuleByTheNameOfItsClass) {
  SADAM_NEEDS_ARCHIVE();
  const auto bytes = fixture("module.pth");
  EXPECT_TRUE(says(refusal([&] { read_pth(bytes_of(bytes)); }), "the file asks to call '__main__.Net'"));
}

}  // namespace
}  // namespace sadam::weights
