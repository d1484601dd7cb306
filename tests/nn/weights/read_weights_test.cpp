
#include <gtest/gtest.h>

#include <filesystem>

#include "nn/weights/refusal.h"
#include "nn/weights/tensor_file.h"
#include "support/temporary_folder.h"

namespace sadam::weights {
namespace {

namespace fs = std::filesystem;
using testing::refusal;
using testing::says;

class ReadWeights : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& content) const {
    return folder_.write(name, content);
  }

  TemporaryFolder folder_;
};

TEST_F(ReadWeights, TheFormatIsToldByContent) {
  SADAM_NEEDS_ARCHIVE();
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
    EXPECT_EQ(testing::elements_of<float>(copy.tensors[0]), values);
  }
}

TEST_F(ReadWeights, EverySentenceNamesTheFile) {
  const auto refused = [](const fs::path& path) {
    auto sentence = refusal([&] { read_weights(path); });
    EXPECT_TRUE(says(sentence, path.string() + ": "));
    return sentence;
  };
  EXPECT_TRUE(says(refused(folder_ / "none"), "No such file"));
  EXPECT_TRUE(says(refused(folder_.path()), "not a regular file"));
  EXPECT_TRUE(says(refused("/dev/zero"), "not a regular file"));
  EXPECT_TRUE(says(refused(write("empty", "")), "empty"));
  EXPECT_TRUE(
      says(refused(write("page", "<html><body>404</body></html>")), "neither safetensors nor a .pth file"));
  const auto evil = testing::pickle(testing::call(testing::global("os", "system"), ")"));
  EXPECT_TRUE(says(refused(write("evil.pth", testing::legacy_pth(evil))), "asks to call 'os.system'"));
}

}  // namespace
}  // namespace sadam::weights
