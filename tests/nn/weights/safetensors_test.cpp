#include "support/find_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nn/weights/refusal.h"
#include "nn/weights/tensor_file.h"

namespace sadam::weights {
namespace {

using testing::bytes_of;
using testing::elements;
using testing::elements_of;
using testing::little_endian;
using testing::refusal;
using testing::says;

std::string safetensors(const std::string& header, const std::string& data = {}) {
  return little_endian(static_cast<std::uint64_t>(header.size())) + header + data;
}

std::string refused(const std::string& header, const std::string& data = {}) {
  const auto file = safetensors(header, data);
  return refusal([&] { read_safetensors(bytes_of(file)); });
}

const std::string two_tensors =
    R"({"a":{"dtype":"F16","shape":[3],"data_offsets":[4,10]},"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]}} )";
const std::string two_tensors_data =
    elements<float>({2.5F}) + elements<std::uint16_t>({0x3c00, 0xc000, 0x7bff});

TEST(Safetensors, KnownBytesAreRead) {
  const auto bytes = safetensors(two_tensors, two_tensors_data);
  const auto file = read_safetensors(bytes_of(bytes));
  ASSERT_EQ(file.tensors.size(), 2U);
  EXPECT_EQ(file.tensors[0].name, "b");
  EXPECT_TRUE(file.tensors[0].shape.empty());
  EXPECT_EQ(elements_of<float>(file.tensors[0]), std::vector<float>{2.5F});
  EXPECT_EQ(file.tensors[1].name, "a");
  EXPECT_EQ(file.tensors[1].shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(elements_of<std::uint16_t>(file.tensors[1]),
            (std::vector<std::uint16_t>{0x3c00, 0xc000, 0x7bff}));
}

TEST(Safetensors, WhatIsWrittenIsReadBack) {
  const auto data = elements<double>({0.25, -1, 3, 1e-300, 5, 6, 7});
  const auto all = bytes_of(data);
  const std::vector<Tensor> tensors{{"flag", DType::boolean, {3}, all.first(3)},
                                    {"conv.weight \"ü\"\n", DType::float64, {2, 1, 3}, all.first(48)},
                                    {"half", DType::float16, {5}, all.subspan(1, 10)},
                                    {"none", DType::float32, {4, 0, 1LL << 62}, {}},
                                    {"count", DType::int64, {}, all.last(8)},
                                    {"brain", DType::bfloat16, {1, 1}, all.first(2)}};
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"note", "a \\ b"}};
  const auto written = write_safetensors(tensors, metadata);
  const auto file = read_safetensors(written);
  EXPECT_EQ(file.metadata, metadata);
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (const auto& tensor : tensors) {
    SCOPED_TRACE(tensor.name);
    const auto* const found = find(file, tensor.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->dtype, tensor.dtype);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_TRUE(
        std::equal(found->bytes.begin(), found->bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
    EXPECT_EQ(static_cast<std::size_t>(found->bytes.data() - written.data()) % size(tensor.dtype), 0U);
  }
  EXPECT_TRUE(read_safetensors(write_safetensors({})).tensors.empty());
}

TEST(Safetensors, EveryTruncationIsRefused) {
  testing::expect_every_truncation_refused(safetensors(two_tensors, two_tensors_data),
                                           [](auto bytes) { return read_safetensors(bytes); });
}

TEST(Safetensors, AWrongHeaderLengthIsRefused) {
  for (const auto length : {~0ULL, 1ULL << 63U, 100'000'001ULL, 7ULL}) {
    const auto file = little_endian(static_cast<std::uint64_t>(length)) + "{}    ";
    EXPECT_TRUE(says(refusal([&] { read_safetensors(bytes_of(file)); }), "header's length"));
  }
}

TEST(Safetensors, DataThatLiesWrongIsRefused) {
  const auto one = [](const std::string& rest) { return R"({"w":{"dtype":"F32",)" + rest + "}}"; };
  const std::string four(4, 'x');
  EXPECT_TRUE(says(refused(one(R"("shape":[2],"data_offsets":[0,8])"), four), "'w' reaches past the end"));
  EXPECT_TRUE(
      says(refused(one(R"("shape":[1],"data_offsets":[18446744073709551612,18446744073709551615])"), four),
           "past the end"));
  EXPECT_TRUE(says(refused(one(R"("shape":[1],"data_offsets":[4,0])"), four), "ends before it begins"));
  EXPECT_TRUE(says(refused(one(R"("shape":[1],"data_offsets":[0,4])"), four + "y"), "unused bytes after"));
  EXPECT_TRUE(says(refused(one(R"("shape":[1],"data_offsets":[1,5])"), four + "y"), "unused bytes before"));
  EXPECT_TRUE(says(refused(one(R"("shape":[2],"data_offsets":[0,4])"), four), "does not fit its bytes"));
  // 2³² · 2³² · 4 is 0 in 64 bits.
  EXPECT_TRUE(says(refused(one(R"("shape":[4294967296,4294967296],"data_offsets":[0,0])")), "does not fit"));
  EXPECT_TRUE(says(refused(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                           R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                           four),
                   "'b' overlaps"));
}

TEST(Safetensors, HeadersThatAreNotOfTheFormatAreRefused) {
  EXPECT_TRUE(says(refused(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
                   "none negative, as its shape"));
  EXPECT_TRUE(
      says(refused(R"({"w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "1234"), "whole numbers"));
  EXPECT_TRUE(says(refused(R"({"w":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,0]}})"),
                   "does not fit"));
  EXPECT_TRUE(says(refused(R"({"w":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]}})"),
                   "'w' has the element type 'F8_E4M3', which is not supported"));
  EXPECT_TRUE(
      says(refused(R"({"w":{"dtype":"F32","shape":[0]}})"), "'w' needs dtype, shape and data_offsets"));
  EXPECT_TRUE(says(refused(R"({"w":{"dtype":"F32","dtype":"F32"}})"), "'dtype' twice"));
  EXPECT_TRUE(says(refused(R"({"w":{"dtype":"F32","shape":[0],"data_offsets":[0]}})"), "two data_offsets"));
  EXPECT_TRUE(
      says(refused(R"({"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0,0]}})"), "two data_offsets"));
  EXPECT_TRUE(says(refused(R"({"w":{"dtype":"F32","extra":{}}})"), "nothing else"));
  EXPECT_TRUE(says(refused(R"({"__metadata__":{"a":1}})"), "no text at 'a'"));
  EXPECT_TRUE(says(refused(R"({"__metadata__":{"a":"1","a":"2"}})"), "twice"));
  EXPECT_TRUE(says(refused(R"({"w":null})"), "'w' needs dtype"));
  EXPECT_TRUE(says(refused("[]"), "not a JSON object"));
  EXPECT_TRUE(says(refused(R"({"w":)" + std::string(100'000, '[')), "nested too deeply"));
  EXPECT_TRUE(says(refused("{} x"), "not valid JSON at its byte 4"));
  EXPECT_TRUE(says(refused(R"({"w":{"dtype":"U8","shape":[1e999]}})"), "a number that no double can hold"));
  std::string many_numbers = "1";
  for (int i = 0; i < 100; ++i) many_numbers += ",1";
  EXPECT_TRUE(says(refused(R"({"w":{"shape":[)" + many_numbers), "too long for a shape"));
  std::string many_dimensions = "1";
  for (int i = 0; i < 64; ++i) many_dimensions += ",1";
  EXPECT_TRUE(
      says(refused(R"({"w":{"dtype":"U8","shape":[)" + many_dimensions + R"(],"data_offsets":[0,1]}})", "1"),
           "too many dimensions"));
}

TEST(Safetensors, ANameIsUsedOnce) {
  const std::string tensor = R"("w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(refused("{" + tensor + "," + tensor + "}"), "the header names 'w' twice");
}

}  // namespace
}  // namespace sadam::weights
