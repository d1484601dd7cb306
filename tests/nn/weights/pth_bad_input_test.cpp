// What a .pth file may get wrong, by accident or design.
#include <gtest/gtest.h>

#include "nn/weights/pth.h"
#include "nn/weights/refusal.h"

namespace sadam::weights {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): every piece of the builder

std::string refused_pth(const std::string& file) {
  return refusal([&] { read_pth(bytes_of(file)); });
}

std::string refused_state(const std::string& value) { return refused_pth(zip_pth(pickle(value))); }

class PthViews : public ::testing::TestWithParam<bool> {
 public:
  static std::string refused_tensor(const BuiltTensor& tensor) {
    return refused_pth(pth({tensor}, GetParam()));
  }
};

constexpr std::int64_t huge = std::int64_t{1} << 62;

TEST_P(PthViews, OutsideTheStorageAreRefused) {
  const std::string past = "the tensor 'w' reaches past the end of its storage";
  EXPECT_EQ(refused_tensor(counting(2, {3}, {1})), past);
  EXPECT_EQ(refused_tensor(counting(2, {2}, {1}, 1)), past);
  EXPECT_EQ(refused_tensor(counting(2, {1}, {1}, 2)), past);
  EXPECT_EQ(refused_tensor(counting(2, {2}, {huge})), past);
  EXPECT_EQ(refused_tensor(counting(2, {2, 2, 2}, {huge, huge, huge})), past);
  EXPECT_EQ(refused_tensor(counting(2, {1}, {1}, huge)), past);
  EXPECT_EQ(refused_tensor(counting(2, {}, {}, 2)), past);
}

TEST_P(PthViews, OfImpossibleShapesAreRefused) {
  EXPECT_TRUE(says(refused_tensor(counting(2, {huge, huge}, {0, 0})), "impossible shape"));
  EXPECT_TRUE(says(refused_tensor(counting(2, {-1}, {1})), "negative size"));
  EXPECT_TRUE(says(refused_tensor(counting(2, {2}, {-1})), "negative size or stride"));
  EXPECT_TRUE(says(refused_tensor(counting(2, {2}, {1}, -1)), "negative offset"));
  EXPECT_TRUE(says(refused_tensor(counting(2, {2}, {})), "strides"));
  const std::vector<std::int64_t> many(65, 1);
  EXPECT_TRUE(says(refused_tensor(counting(2, many, many)), "too many dimensions"));
}

TEST_P(PthViews, ThatRepeatElementsAreRefused) {
  EXPECT_TRUE(says(refused_tensor(counting(2, {1'000'000}, {0})), "'w' repeats elements"));
}

TEST_P(PthViews, OfStoragesOfAnotherSizeAreRefused) {
  auto tensor = counting(2, {2}, {1});
  tensor.storage.count = 3;
  refused_tensor(tensor);
  tensor.storage.count = huge;  // times four bytes is 0 in 64 bits
  refused_tensor(tensor);
  tensor.storage.count = -1;
  EXPECT_TRUE(says(refused_tensor(tensor), "negative size"));
}

TEST_P(PthViews, CopiedManyTimesAreRefused) {
  // One storage, transposed a hundred times: more bytes than the file has.
  std::vector<BuiltTensor> tensors;
  for (int i = 0; i < 100; ++i) {
    tensors.push_back(counting(10'000, {100, 100}, {1, 100}));
    tensors.back().name = std::to_string(i);
  }
  const auto state = pickled_state(tensors, GetParam());
  const std::vector<BuiltStorage> one{tensors[0].storage};
  EXPECT_TRUE(
      says(refused_pth(GetParam() ? legacy_pth(state, one) : zip_pth(state, one)), "larger than the file"));
}

TEST_P(PthViews, OfOneNameAreRefused) {
  auto first = counting(1, {1}, {1});
  auto second = first;
  second.storage.key = "1";
  EXPECT_EQ(refused_pth(pth({first, second}, GetParam())), "the state dict names 'w' twice");
}

INSTANTIATE_TEST_SUITE_P(Layouts, PthViews, ::testing::Bool(),
                         [](const auto& layout) { return layout.param ? "legacy" : "zip"; });

TEST(PthRefuses, WhatIsNotAStateDict) {
  EXPECT_EQ(refused_state("]"), "the file holds a list, not a state dict of tensors");
  EXPECT_TRUE(
      says(refused_state("}" + text("epoch") + "K\3s"), "the entry 'epoch' is an integer, not a tensor"));
  EXPECT_TRUE(says(refused_state("}" + text("state_dict") + "}s"), "'state_dict' is a dict, not a tensor"));
  EXPECT_TRUE(says(refused_state("}K\1K\1s"), "an integer as a name"));
}

TEST(PthRefuses, PicklesThatMakeNoSense) {
  const std::vector<std::string> bad{"",
                                     "t",
                                     "u",
                                     "(",
                                     "}(K\1u",
                                     "h\1",
                                     "q\1",
                                     "a",
                                     "]K\1s",
                                     "}K\1a",
                                     "NR",
                                     "N)R",
                                     "Q",
                                     "NQ",
                                     ")Q",
                                     "Nb",
                                     "K\1Nb",
                                     "\x93",
                                     "NN\x93",
                                     "\x80\x09",
                                     "\x8b\xff\xff\xff\xff",
                                     "\x8a\x09xxxxxxxxx",
                                     "0",
                                     "\x82\x01",
                                     "(K\1b",
                                     global("collections", "OrderedDict") + "NR",
                                     global("collections", "OrderedDict") + "N\x85R",
                                     global("torch._utils", "_rebuild_tensor_v2") + ")R",
                                     global("torch.nn.parameter", "Parameter") + "N\x85\x81",
                                     global("torch", "FloatStorage") + ")R"};
  for (const auto& value : bad) EXPECT_FALSE(refused_state(value).empty()) << value;
}

TEST(PthRefuses, DeepAndCyclicPicklesWithoutHarm) {
  EXPECT_FALSE(refused_state(std::string(200'000, ']') + std::string(199'999, 'a')).empty());
  EXPECT_FALSE(refused_state(std::string(100'000, '(')).empty());
  EXPECT_FALSE(refused_state("]q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "a").empty());
}

TEST(PthRefuses, PicklesThatGrowWithoutEnd) {
  // A list of many pairs, made into a dict again and again.
  std::string value = "]q\1(";
  for (int i = 0; i < 10'000; ++i) value += "NN\x86";
  value += "e0";
  value.pop_back();
  for (int i = 0; i < 1'000; ++i) value += global("collections", "OrderedDict") + "h\1\x85R";
  EXPECT_TRUE(says(refused_state(value), "values"));
}

TEST(PthRefuses, DamagedArchives) {
  const auto tensor = counting(2, {2}, {1});
  const auto state = pickled_state({tensor}, false);
  EXPECT_TRUE(says(refused_pth(zip_archive({})), "does not begin"));
  EXPECT_TRUE(says(refused_pth(zip_archive({{"x", "y"}})), "no data.pkl"));
  EXPECT_TRUE(says(refused_pth(zip_archive({{"a/data.pkl", state}, {"b/data.pkl", state}})), "two folders"));
  EXPECT_TRUE(says(refused_pth(zip_archive({{"a/data.pkl", state}, {"a/data.pkl", state}})), "two records"));
  EXPECT_TRUE(says(refused_pth(zip_pth(state)), "'archive/data/0' is missing"));
  EXPECT_TRUE(says(refused_pth(zip_archive({{"a/data.pkl", state}, {"a/byteorder", "big"}})), "big-endian"));
  auto damaged = zip_pth(state, {tensor.storage});
  damaged[damaged.find(tensor.storage.data)] ^= 1;
  EXPECT_TRUE(says(refused_pth(damaged), "'archive/data/0' is damaged"));
  auto compressed = zip_pth(state, {tensor.storage});
  compressed[compressed.find("PK\1\2") + 10] = 8;
  EXPECT_TRUE(says(refused_pth(compressed), "compressed"));
}

TEST(PthRefuses, BigEndianAndUnknownVersionsOfTheOldLayout) {
  auto big = legacy_pth(pickle("}"));
  big[big.find("\x88s")] = '\x89';
  EXPECT_TRUE(says(refused_pth(big), "big-endian"));
  auto version = legacy_pth(pickle("}"));
  version[version.find(little_endian(std::int64_t{1001}))] = 1;
  EXPECT_TRUE(says(refused_pth(version), "unknown version"));
}

TEST(PthRefuses, StoragesThatAreMissingOrNotWantedInTheOldLayout) {
  const auto tensor = counting(2, {2}, {1});
  const auto state = pickled_state({tensor}, true);
  EXPECT_TRUE(says(refused_pth(legacy_pth(state)), "'0' is missing"));
  EXPECT_TRUE(says(refused_pth(legacy_pth(state, {tensor.storage, tensor.storage})), "twice"));
  EXPECT_TRUE(says(refused_pth(legacy_pth(pickle("}"), {tensor.storage})), "no tensor uses"));
}

}  // namespace
}  // namespace sadam::weights
