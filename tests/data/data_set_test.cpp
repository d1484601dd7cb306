#include "data/data_set.h"

#include <gtest/gtest.h>

#include <set>

#include "base/usage_error.h"
#include "data/small_sets.h"

namespace sadam::data {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;

std::string open_refusal(const DataRequest& request) {
  return refusal([&] { open_data_set(request); });
}

TEST(DataSet, CifarIsReadFromItsOfficialFolder) {
  const TemporaryFolder root;
  samples::write_cifar100(root, 250, 100);
  const auto set = open_data_set({.name = "cifar100", .root = root.path()});
  EXPECT_EQ(250u, set.train->size());
  EXPECT_EQ(100u, set.test->size());
  EXPECT_EQ(100, set.train->classes());
  EXPECT_EQ(32u, set.train->pixels());
  EXPECT_EQ(49, set.train->label(249));
  EXPECT_EQ(0.5f, set.normalization.mean[1]);
}

TEST(DataSet, ImagesComeInTheSizeAskedFor) {
  const TemporaryFolder root;
  samples::write_cifar100(root, 100, 100);
  const auto set = open_data_set({.name = "cifar100", .root = root.path(), .pixels = 48});
  std::vector<std::uint8_t> image(3 * 48 * 48);
  ASSERT_EQ(image.size(), set.test->bytes_per_image());
  set.test->read(77, image.data());
  EXPECT_EQ(std::vector<std::uint8_t>(image.size(), 77), image);
}

TEST(DataSet, ASubsetIsEven) {
  const TemporaryFolder root;
  samples::write_cifar100(root, 300, 200);
  const auto set =
      open_data_set({.name = "cifar100", .root = root.path(), .train_images = 200, .test_images = 100});
  EXPECT_EQ(200u, set.train->size());
  EXPECT_EQ(100u, set.test->size());
  std::vector<int> count(100);
  for (std::size_t i = 0; i < 200; ++i) ++count[static_cast<std::size_t>(set.train->label(i))];
  EXPECT_EQ(std::vector<int>(100, 2), count);
}

TEST(DataSet, ValidationImagesAreHeldOutOfTheTrainingImages) {
  const TemporaryFolder root;
  samples::write_cifar100(root, 250, 100);  // of more, some would be the same
  for (const auto* name : {"cifar100", "synthetic100"}) {
    const auto set =
        open_data_set({.name = name, .root = root.path(), .train_images = 100, .validation_images = 100});
    ASSERT_TRUE(set.validation);
    EXPECT_EQ(100u, set.train->size());
    std::vector<int> trained(100), held(100);
    for (std::size_t i = 0; i < 100; ++i) ++trained[static_cast<std::size_t>(set.train->label(i))];
    for (std::size_t i = 0; i < 100; ++i) ++held[static_cast<std::size_t>(set.validation->label(i))];
    EXPECT_EQ(std::vector<int>(100, 1), trained) << name;
    EXPECT_EQ(std::vector<int>(100, 1), held) << name;
    // No image is in both.
    std::set<std::vector<std::uint8_t>> seen;
    std::vector<std::uint8_t> image(set.train->bytes_per_image());
    for (std::size_t i = 0; i < 100; ++i) set.train->read(i, image.data()), seen.insert(image);
    for (std::size_t i = 0; i < 100; ++i) {
      set.validation->read(i, image.data());
      EXPECT_FALSE(seen.contains(image)) << name << ' ' << i;
    }
  }
  EXPECT_FALSE(open_data_set({.name = "cifar100", .root = root.path()}).validation);
  EXPECT_EQ(249u,
            open_data_set({.name = "cifar100", .root = root.path(), .validation_images = 1}).train->size());
  EXPECT_TRUE(
      says(open_refusal({.name = "cifar100", .root = root.path(), .validation_images = 250}), "fewer"));
  EXPECT_TRUE(says(
      open_refusal({.name = "cifar100", .root = root.path(), .train_images = 151, .validation_images = 100}),
      "251"));
}

TEST(DataSet, MoreImagesThanThereAreIsAMistakeOfTheCaller) {
  const TemporaryFolder root;
  samples::write_cifar100(root, 100, 100);
  const DataRequest request{.name = "cifar100", .root = root.path(), .train_images = 101};
  EXPECT_THROW(open_data_set(request), UsageError);
  EXPECT_TRUE(says(open_refusal(request), "101 training images")) << open_refusal(request);
  const DataRequest both{.name = "synthetic10", .train_images = 50000, .validation_images = 7};
  EXPECT_TRUE(says(open_refusal(both), "50007 training and validation images")) << open_refusal(both);
}

TEST(DataSet, AClassFolderSetIsDecoded) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "imagewoof2-160", 10, 2, 1);
  const auto set = open_data_set({.name = "imagewoof", .root = root.path(), .train_images = 10});
  EXPECT_EQ(10u, set.train->size());
  EXPECT_EQ(10u, set.test->size());
  EXPECT_EQ(160u, set.test->pixels());
  EXPECT_EQ(9, set.train->label(9));
  EXPECT_EQ(0.485f, set.normalization.mean[0]);
  EXPECT_EQ(0.225f, set.normalization.deviation[2]);
  std::vector<std::uint8_t> image(set.test->bytes_per_image());
  set.test->read(3, image.data());
  EXPECT_NE(std::vector<std::uint8_t>(image.size()), image);
}

TEST(DataSet, AFolderIsGivenByItsPath) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "mine", 3, 2, 1);
  const auto set = open_data_set({.name = "folder:" + (root.path() / "mine").string()});
  EXPECT_EQ(3, set.train->classes());
  EXPECT_EQ(224u, set.train->pixels());
  EXPECT_EQ(6u, set.train->size());
}

TEST(DataSet, SyntheticSetsNeedNothing) {
  const auto set = open_data_set({.name = "synthetic100", .train_images = 200, .test_images = 100});
  EXPECT_EQ(200u, set.train->size());
  EXPECT_EQ(100u, set.test->size());
  EXPECT_EQ(100, set.train->classes());
  EXPECT_EQ(32u, set.train->pixels());
}

TEST(DataSet, WhatIsMissingSaysHowToGetIt) {
  const TemporaryFolder root;
  for (const auto& [name, folder] : {std::pair("cifar10", "cifar-10-batches-bin"),
                                     {"cifar100", "cifar-100-binary"},
                                     {"tinyimagenet", "tiny-imagenet-200"},
                                     {"imagewoof", "imagewoof2-160"}}) {
    const auto sentence = open_refusal({.name = name, .root = root.path()});
    EXPECT_TRUE(says(sentence, (root.path() / folder).string())) << sentence;
    EXPECT_TRUE(says(sentence, std::string("`sadam data fetch ") + name + "`")) << sentence;
  }
}

TEST(DataSet, AMissingOrDamagedCifarFileIsNamed) {
  const TemporaryFolder root;
  samples::write_cifar100(root, 100, 100);
  const auto file = root.write("cifar-100-binary/test.bin", "short");
  for (int i = 0; i < 2; ++i, std::filesystem::remove(file)) {
    const auto sentence = open_refusal({.name = "cifar100", .root = root.path()});
    EXPECT_TRUE(says(sentence, file.string()) && says(sentence, "fetch cifar100")) << sentence;
  }
}

TEST(DataSet, AnotherNumberOfClassesIsRefusedWithBothNumbers) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "imagewoof2-160", 9, 1, 1);
  auto sentence = open_refusal({.name = "imagewoof", .root = root.path()});
  EXPECT_TRUE(says(sentence, "9 classes") && says(sentence, "has 10")) << sentence;
  samples::write_cifar100(root, 300, 300, 99);
  sentence = open_refusal({.name = "cifar100", .root = root.path()});
  EXPECT_TRUE(says(sentence, "99 classes") && says(sentence, "has 100")) << sentence;
  root.write("tiny-imagenet-200/wnids.txt", "n1\n");
  root.write("tiny-imagenet-200/train/n1/images/1.JPEG", "");
  root.write("tiny-imagenet-200/val/images/1.JPEG", "");
  root.write("tiny-imagenet-200/val/val_annotations.txt", "1.JPEG\tn1\n");
  sentence = open_refusal({.name = "tinyimagenet", .root = root.path()});
  EXPECT_TRUE(says(sentence, "1 classes") && says(sentence, "has 200")) << sentence;
}

TEST(DataSet, AnUnknownNameIsAMistakeOfTheCaller) {
  EXPECT_THROW(open_data_set({.name = "cifar1000"}), UsageError);
  EXPECT_THROW(open_data_set({.name = "folder:"}), UsageError);
  EXPECT_THROW(open_data_set({.name = "synthetic10", .pixels = 100000}), UsageError);
  EXPECT_THROW(pixels_of(""), UsageError);
  EXPECT_TRUE(says(open_refusal({.name = "imagewoff"}), "'imagewoof'"));
}

TEST(DataSet, ImagesOfOneSizeInAFolderHaveThatSizeAndOthersTheUsualOne) {
  const TemporaryFolder root;
  const auto own = [&](const std::string& name) { return own_pixels("folder:" + (root / name).string()); };
  for (const std::string name : {"alike", "unlike"})
    for (const std::string file : {"/train/a/1.jpg", "/train/b/1.jpg", "/val/a/1.jpg", "/val/b/1.jpg"})
      root.write(name + file, samples::write_jpeg({.width = 48, .height = 48}));
  root.write("unlike/train/b/2.jpg", samples::write_jpeg({.width = 48, .height = 49}));
  EXPECT_EQ(48u, own("alike"));
  EXPECT_EQ(224u, own("unlike"));
  EXPECT_EQ(224u, own("missing"));
  EXPECT_EQ(32u, own_pixels("cifar100"));
}

// A name that the catalogue lacks is never taken for a folder, also where one of that name is there.
TEST(DataSet, OnlyWhatIsCalledAFolderIsReadAsOne) {
  const TemporaryFolder root;
  for (const std::string name : {"mine", "imagewoof2-160", "cifar-100-binary"}) {
    samples::write_class_folders(root, name, 10, 1, 1);
    for (const auto& each : {name, (root / name).string()}) {
      EXPECT_THROW(open_data_set({.name = each, .root = root.path()}), UsageError) << each;
      EXPECT_THROW(check_data_set(each, root.path()), UsageError) << each;
      EXPECT_THROW(pixels_of(each), UsageError) << each;
    }
    EXPECT_EQ(10, open_data_set({.name = "folder:" + (root / name).string()}).train->classes());
  }
}

// Whatever the catalogue has is opened and checked as what it is: made here, or looked for where it is put.
TEST(DataSet, EveryRowOfTheCatalogueIsReadAsItsKind) {
  const TemporaryFolder root;
  for (const auto& set : known_sets()) {
    EXPECT_EQ(set.pixels, pixels_of(set.name)) << set.name;
    const DataRequest request{.name = set.name, .root = root.path(), .train_images = 100, .test_images = 100};
    if (set.kind == DataKind::synthetic) {
      EXPECT_EQ(set.classes, open_data_set(request).train->classes()) << set.name;
      EXPECT_FALSE(set.source) << set.name;
      continue;
    }
    ASSERT_TRUE(set.source) << set.name;
    EXPECT_TRUE(says(open_refusal(request), (root / set.source->place).string())) << set.name;
    std::filesystem::create_directories(root / set.source->place);
    EXPECT_TRUE(says(open_refusal(request), set.source->place)) << "an empty folder of " << set.name;
  }
}

TEST(DataSet, ShapesAreKnownWithoutOpening) {
  EXPECT_EQ(64u, pixels_of("tinyimagenet"));
  EXPECT_EQ(224u, pixels_of("folder:/anywhere"));
}

}  // namespace
}  // namespace sadam::data
