// What a .pth file may get wrong, by accident or design.
#include <gtest/gtest.h>
#include <zlib.h>

#include "nn/weights/refusal.h"
#include "nn/weights/tensor_file.h"

namespace sadam::weights {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): every piece of the builder

std::string refused_pth(const std::string& file) {
  return refusal([&] { read_pth(bytes_of(file)); });
}

std::string refused_state(const std::string& value) { return refused_pth(zip_pth(pickle(value))); }

class PthViews : public ::testing::TestWithParam<bool> {
  void SetUp() override {
    if (!GetParam()) SADAM_NEEDS_ARCHIVE();
  }

 public:
  static std::string refused_tensor(const BuiltTensor& tensor) {
    return refused_pth(pth({tensor}, GetParam()));
  }
};

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST_P(PthViews, OutsideTheStorageAreRefused) {
  const std::string past = "the tensor 'w' reaches past the end of its storage";
  EXPECT_EQ(refused_tensor(counting(2, {3}, {1})), past);
  EXPECT_EQ(refused_tensor(counting(2, {2}, {1}, 1)), past);
  EXPECT_EQ(refused_tensor(counting(2, {1}, {1}, 2)), past);
  EXPECT_EQ(refused_tensor(counting(2, {2}, {kHuge})), past);
  EXPECT_EQ(refused_tensor(counting(2, {2, 2, 2}, {kHuge, kHuge, kHuge})), past);
  EXPECT_EQ(refused_tensor(counting(2, {1}, {1}, kHuge)), past);
  EXPECT_EQ(refused_tensor(counting(2, {}, {}, 2)), past);
}

TEST_P(PthViews, OfImpossibleShapesAreRefused) {
  EXPECT_TRUE(says(refused_tensor(counting(2, {kHuge, kHuge}, {0, 0})), "impossible shape"));
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
  EXPECT_NE(refused_tensor(tensor), "");
  tensor.storage.count = kHuge;  // times four bytes is 0 in 64 bits
  EXPECT_NE(refused_tensor(tensor), "");
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
  SADAM_NEEDS_ARCHIVE();
  EXPECT_EQ(refused_state("]"), "the file holds a list, not a state dict of tensors");
  EXPECT_TRUE(
      says(refused_state("}" + text("epoch") + "K\3s"), "the entry 'epoch' is an integer, not a tensor"));
  EXPECT_TRUE(says(refused_state("}" + text("state_dict") + "}s"), "'state_dict' is a dict, not a tensor"));
  EXPECT_TRUE(says(refused_state("}K\1K\1s"), "an integer as a name"));
}

TEST(PthRefuses, PicklesThatMakeNoSense) {
  SADAM_NEEDS_ARCHIVE();
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
  SADAM_NEEDS_ARCHIVE();
  EXPECT_FALSE(refused_state(std::string(200'000, ']') + std::string(199'999, 'a')).empty());
  EXPECT_FALSE(refused_state(std::string(100'000, '(')).empty());
  EXPECT_FALSE(refused_state("]q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "a").empty());
}

TEST(PthRefuses, PicklesThatGrowWithoutEnd) {
  SADAM_NEEDS_ARCHIVE();
  // A list of many pairs, made into a dict again and again.
  std::string value = "]q\1(";
  for (int i = 0; i < 10'000; ++i) value += "NN\x86";
  value += "e0";
  value.pop_back();
  for (int i = 0; i < 1'000; ++i) value += global("collections", "OrderedDict") + "h\1\x85R";
  EXPECT_TRUE(says(refused_state(value), "values"));
}

TEST(PthRefuses, DamagedArchives) {
  SADAM_NEEDS_ARCHIVE();
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
}

/// A small file that would grow to fill the memory.
TEST(PthRefuses, CompressedArchives) {
  SADAM_NEEDS_ARCHIVE();
  std::string packed(100'000, '\0');
  z_stream stream{};
  std::string zeros(1'000'000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  constexpr int kWithoutHeader = -15;
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, kWithoutHeader, 8, Z_DEFAULT_STRATEGY), Z_OK);
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);

  auto file = zip_archive({{"archive/data.pkl", packed}});
  const auto checksum = little_endian(base::crc32(bytes_of(zeros)));
  const auto size = little_endian(static_cast<std::uint32_t>(zeros.size()));
  for (const auto at : {file.find("PK\3\4") + 8, file.find("PK\1\2") + 10}) {
    file[at] = 8;  // deflated
    file.replace(at + 6, 4, checksum).replace(at + 14, 4, size);
  }
  EXPECT_TRUE(says(refused_pth(file), "compressed"));
}

TEST(PthVersions, ARecordsFolderMayHaveAnyName) {
  SADAM_NEEDS_ARCHIVE();
  const auto tensor = counting(2, {2}, {1});
  auto file = zip_archive(
      {{"modèle/data.pkl", pickled_state({tensor}, false)}, {"modèle/data/0", tensor.storage.data}});
  EXPECT_EQ(read_pth(bytes_of(file)).tensors.size(), 1U);
  // The flag that says the names are UTF-8, in both places of each record.
  for (std::size_t at = 0; (at = file.find("PK\3\4", at)) != std::string::npos; ++at) file[at + 7] = 8;
  for (std::size_t at = 0; (at = file.find("PK\1\2", at)) != std::string::npos; ++at) file[at + 9] = 8;
  EXPECT_EQ(read_pth(bytes_of(file)).tensors.size(), 1U);
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

#ifndef SADAM_HAVE_ARCHIVE
TEST(PthRefuses, ArchivesWhereThereIsNoLibarchiveWithAWayOut) {
  EXPECT_TRUE(says(refused_pth(zip_pth(pickle("}"))), "save the weights as safetensors"));
}
#endif

}  // namespace
}  // namespace sadam::weights
