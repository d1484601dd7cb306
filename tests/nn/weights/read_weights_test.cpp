#include "nn/weights/read_weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "nn/weights/refusal.h"
#include "nn/weights/safetensors.h"
#include "nn/weights/tensor_file.h"

namespace sadam::weights {
namespace {

namespace fs = std::filesystem;
using testing::refusal;
using testing::says;

class ReadWeights : public ::testing::Test {
 protected:
  ReadWeights() { fs::create_directory(folder_); }
  ~ReadWeights() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

  fs::path folder_ = fs::temp_directory_path() / ("sadam-read-weights-" + std::to_string(::getpid()));
};

TEST_F(ReadWeights, TheFormatIsToldByContent) {
  const auto tensor = testing::counting(3, {3}, {1});
  const std::vector<float> values{0, 1, 2};
  const auto written = write_safetensors(
      std::vector<Tensor>{{"w", DType::float32, {3}, testing::bytes_of(tensor.storage.data)}});
  for (const auto& path :
       {write("a.pth", {reinterpret_cast<const char*>(written.data()), written.size()}),
        write("b.safetensors", testing::pth({tensor}, false)), write("c", testing::pth({tensor}, true))}) {
    auto file = read_weights(path);
    const auto copy = file;
    file = {};  // what was read lives on in the copy
    ASSERT_EQ(copy.tensors.size(), 1U);
    EXPECT_EQ(to_float32(copy.tensors[0]), values);
  }
}

TEST_F(ReadWeights, EverySentenceNamesTheFile) {
  const auto refused = [](const fs::path& path) {
    auto sentence = refusal([&] { read_weights(path); });
    EXPECT_TRUE(says(sentence, path.string() + ": "));
    return sentence;
  };
  EXPECT_TRUE(says(refused(folder_ / "none"), "No such file"));
  EXPECT_TRUE(says(refused(folder_), "not a regular file"));
  EXPECT_TRUE(says(refused("/dev/zero"), "not a regular file"));
  EXPECT_TRUE(says(refused(write("empty", "")), "empty"));
  EXPECT_TRUE(
      says(refused(write("page", "<html><body>404</body></html>")), "neither safetensors nor a .pth file"));
  const auto evil = testing::pickle(testing::call(testing::global("os", "system"), ")"));
  EXPECT_TRUE(says(refused(write("evil.pth", testing::zip_pth(evil))), "asks to call 'os.system'"));
}

}  // namespace
}  // namespace sadam::weights
