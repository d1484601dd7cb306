// Training on a folder of one's own images.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "data/png_writer.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

using data::samples::write_png;

/// Two classes of 32-pixel PNG files.
void write_images(const TemporaryFolder& folder, const std::string& name, int each) {
  for (const std::string part : {"train", "val"})
    for (const std::string kind : {"a", "b"})
      for (int i = 0; i < each; ++i)
        folder.write(
            name + "/" + part + "/" + kind + "/" + std::to_string(i) + ".png",
            write_png({.width = 32, .height = 32}, [&](std::size_t x, std::size_t y, std::size_t c) {
              return static_cast<unsigned>((kind == "a" ? x : y) * 7 + c + static_cast<unsigned>(i)) & 255u;
            }));
}

class OwnFolder : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef SADAM_HAVE_PNG
    GTEST_SKIP() << "built without libpng";
#endif
    write_images(folder_, "pets", 8);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  Ended train(int epochs, const Arguments& more = {}) const {
    Arguments words = {"train",
                       "--root",
                       path("runs"),
                       "--name",
                       "pets",
                       "--set",
                       "data.name=folder:" + path("pets"),
                       "--set",
                       "train.batch=4",
                       "--set",
                       "train.epochs=" + std::to_string(epochs),
                       "--set",
                       "train.threads=1"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }
  TemporaryFolder folder_;
};

TEST_F(OwnFolder, ImagesKeepTheirOwnSizeAndTheStartSaysIt) {
  const auto ended = train(1);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.err.find("1 epoch of 4 steps, images of 32×32\n"), std::string::npos) << ended.err;
  EXPECT_NE(text_of_file(folder_ / "runs/pets/run.toml").find("pixels = 32\n"), std::string::npos);
  const auto told = run_program({"eval", "--root", path("runs"), "pets"});
  EXPECT_EQ(told.status, 0) << told.err;
}

TEST_F(OwnFolder, AnotherSizeMayBeAskedFor) {
  const auto ended = train(1, {"--set", "data.pixels=64"});
  EXPECT_NE(ended.err.find("images scaled to 64×64\n"), std::string::npos) << ended.err;
}

TEST_F(OwnFolder, ImagesOfSeveralSizesAreScaledAndTheStartSaysSo) {
  folder_.write("pets/train/a/0.png", write_png({.width = 40, .height = 40}, [](auto...) { return 7u; }));
  const auto ended = train(1);
  EXPECT_NE(ended.err.find("images scaled to 224×224\n"), std::string::npos) << ended.err;
}

// Of an older version: its images were scaled to 224 pixels, and so they stay.
TEST_F(OwnFolder, ARunThatBeganWithScaledImagesGoesOnWithThem) {
  ASSERT_EQ(train(2, {"--set", "data.pixels=224"}).status, 0);
  const auto file = folder_ / "runs/pets/run.toml";
  auto recipe = text_of_file(file);
  recipe.replace(recipe.find("pixels = 224"), 12, "pixels = 0");
  write_text(file, recipe);
  EXPECT_EQ(run_program({"train", "--resume", path("runs/pets")}).status, 0);
  const auto told = run_program({"eval", path("runs/pets")});
  EXPECT_EQ(told.status, 0) << told.err;
}

TEST_F(OwnFolder, ARunThatFailsBeforeItsFirstStepLeavesNothingBehind) {
  folder_.write("pets/train/a/0.png", text_of_file(folder_ / "pets/train/a/0.png").substr(0, 60));
  auto ended = train(1);
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(says(ended.err, "0.png"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs/pets"));

  folder_.write("runs/pets/notes.txt", "mine");  // what it did not make stays
  EXPECT_EQ(train(1).status, 1);
  EXPECT_EQ(text_of_file(folder_ / "runs/pets/notes.txt"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs/pets/run.toml"));

  write_images(folder_, "pets", 8);
  EXPECT_EQ(train(1).status, 0);
  folder_.write("pets/train/a/0.png", "x");  // a run that has steps stays
  EXPECT_EQ(run_program({"train", "--resume", path("runs/pets"), "--set", "train.epochs=2"}).status, 1);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "runs/pets/checkpoint.pt"));
}

TEST_F(OwnFolder, ARunMovesWithItsData) {
  ASSERT_EQ(train(1).status, 0);
  std::filesystem::rename(folder_ / "pets", folder_ / "moved");
  const auto before = text_of_file(folder_ / "runs/pets/run.toml");
  const auto refused = run_program({"train", "--resume", path("runs/pets"), "--set", "train.epochs=2"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(says(refused.err, "--set data.name=folder:PATH"));
  EXPECT_EQ(text_of_file(folder_ / "runs/pets/run.toml"), before);
  const Arguments moved = {"train", "--resume", path("runs/pets"), "--set",
                           "data.name=folder:" + path("moved")};
  auto longer = moved;
  longer.insert(longer.end(), {"--set", "train.epochs=2"});
  const auto ended = run_program(longer);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.err.find("going on after step 4"), std::string::npos) << ended.err;
  const auto told = run_program({"eval", path("runs/pets"), "--per-class"});
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_NE(told.out.find("\nb           8 "), std::string::npos) << "classes by their names: " << told.out;
}

TEST_F(OwnFolder, ARunDoesNotGoOnWithOtherImages) {
  ASSERT_EQ(train(1).status, 0);
  write_images(folder_, "pets", 12);
  const auto ended = run_program({"train", "--resume", path("runs/pets"), "--set", "train.epochs=2"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find("another number of images"), std::string::npos) << ended.err;
  const auto other = run_program({"train", "--resume", path("runs/pets"), "--set", "data.name=cifar10"});
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("only a folder: of images"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace sadam::cli
