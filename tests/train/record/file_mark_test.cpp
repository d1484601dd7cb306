#include "train/record/file_mark.h"

#include <gtest/gtest.h>

#include "base/support.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::TemporaryFolder;
using sadam::testing::text_of_file;
using sadam::testing::write_text;

class FileMarkTest : public ::testing::Test {
 protected:
  FileMarkTest() { write_text(path_, text_); }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "events.jsonl";
  std::string text_ = std::string(3'000'000, 'x');  // read in several parts
};

TEST_F(FileMarkTest, AFileThatOnlyGrewIsUnchanged) {
  const FileMark mark{text_.size(), checksum_of_first(text_.size(), path_)};
  EXPECT_NO_THROW(check_unchanged_since(mark, path_));
  write_text(path_, text_ + "more");
  EXPECT_NO_THROW(check_unchanged_since(mark, path_));
}

TEST_F(FileMarkTest, ADamagedByteIsFoundWhereverItIs) {
  const FileMark mark{text_.size(), checksum_of_first(text_.size(), path_)};
  for (const std::size_t at : {std::size_t{0}, text_.size() / 2, text_.size() - 1}) {
    auto damaged = text_;
    damaged[at] = 'y';
    write_text(path_, damaged);
    const auto sentence = refusal([&] { check_unchanged_since(mark, path_); });
    EXPECT_TRUE(says(sentence, path_.string() + " is not what it was at the last checkpoint")) << at;
    EXPECT_TRUE(text_of_file(path_) == damaged) << "it was touched";
  }
}

TEST_F(FileMarkTest, AFileThatIsShorterOrGoneIsNamed) {
  const FileMark mark{text_.size(), checksum_of_first(text_.size(), path_)};
  write_text(path_, "12345");
  EXPECT_TRUE(says(refusal([&] { check_unchanged_since(mark, path_); }),
                   path_.string() + " has 5 bytes and had 3000000"));
  std::filesystem::remove(path_);
  EXPECT_TRUE(says(refusal([&] { check_unchanged_since(mark, path_); }), path_.string() + " is gone"));
  EXPECT_NO_THROW(check_unchanged_since({}, path_));  // nothing had been written
}

}  // namespace
}  // namespace sadam::train
