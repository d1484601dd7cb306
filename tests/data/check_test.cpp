#include "data/data_set.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/usage_error.h"
#include "data/small_sets.h"

namespace sadam::data {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;

TEST(Check, EveryDamagedFileIsListedInOrder) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "mine", 3, 4, 2);
  const auto whole = samples::write_jpeg();
  const std::vector<std::string> damaged = {"mine/train/n00/2.JPEG", "mine/train/n02/0.JPEG",
                                            "mine/val/n01/1.JPEG"};
  for (const auto& name : damaged) root.write(name, std::span(whole).first(whole.size() - 20));
  const auto name = "folder:" + (root.path() / "mine").string();
  const auto report = check_data_set(name, "");
  ASSERT_EQ(3u, report.problems.size());
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(says(report.problems[i], (root.path() / damaged[i]).string())) << report.problems[i];
  EXPECT_EQ(name + ": 12 training images and 6 test images of 3 classes: 3 problems found.", report.summary);
}

TEST(Check, AWholeFolderHasNoProblems) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "mine", 2, 1, 1);
  const auto report = check_data_set("folder:" + (root.path() / "mine").string(), "");
  EXPECT_EQ(std::vector<std::string>{}, report.problems);
  EXPECT_TRUE(says(report.summary, "all is well")) << report.summary;
}

TEST(Check, WhatIsNoImageIsListedBesideTheDamage) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "mine", 2, 1, 1);
  root.write("mine/train/n00/notes.txt", "");
  root.write("mine/train/n01/also.png", "");
  root.write("mine/train/n01/0.JPEG", "damaged");
  EXPECT_EQ(3u, check_data_set("folder:" + (root.path() / "mine").string(), "").problems.size());
}

TEST(Check, CountsAreComparedWithTheOfficialSet) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "imagewoof2-160", 10, 2, 1);
  const auto woof = check_data_set("imagewoof", root.path());
  ASSERT_EQ(2u, woof.problems.size());
  EXPECT_TRUE(says(woof.problems[0], "20 images") && says(woof.problems[0], "9025"));
  EXPECT_TRUE(says(woof.problems[1], "10 images") && says(woof.problems[1], "3929"));

  samples::write_cifar100(root, 400, 200);
  const auto cifar = check_data_set("cifar100", root.path());
  ASSERT_EQ(200u, cifar.problems.size());
  EXPECT_TRUE(says(cifar.problems[7], "class 7 has 4 images in the training part")) << cifar.problems[7];
  EXPECT_TRUE(says(cifar.problems[199], "class 99 has 2 images in the test part")) << cifar.problems[199];
}

TEST(Check, EachDamagedCifarFileIsNamed) {
  const TemporaryFolder root;
  const std::vector<std::byte> record(3073);
  for (const char* name : {"data_batch_1", "data_batch_3", "data_batch_4", "test_batch"})
    root.write("cifar-10-batches-bin/" + std::string(name) + ".bin", record);
  root.write("cifar-10-batches-bin/data_batch_2.bin", "short");
  const auto report = check_data_set("cifar10", root.path());
  ASSERT_LT(2u, report.problems.size());
  EXPECT_TRUE(says(report.problems[0], "data_batch_2.bin: ")) << report.problems[0];
  EXPECT_TRUE(says(report.problems[1], "data_batch_5.bin: ")) << report.problems[1];
}

TEST(Check, ProgressReachesTheEnd) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "mine", 2, 3, 2);
  std::vector<std::size_t> seen;
  check_data_set("folder:" + (root.path() / "mine").string(), "", [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(10u, total);
    seen.push_back(done);
  });
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(10u, seen.back());
}

TEST(Check, WhatTheProgressThrowsEndsIt) {
  const TemporaryFolder root;
  samples::write_class_folders(root, "mine", 2, 3, 2);
  const auto stop = [](std::size_t, std::size_t) { throw Error("stopped"); };
  EXPECT_EQ("stopped",
            refusal([&] { check_data_set("folder:" + (root.path() / "mine").string(), "", stop); }));
}

TEST(Check, WhatIsNotThereIsAnErrorAndWhatDoesNotExistAMistake) {
  const TemporaryFolder root;
  EXPECT_TRUE(says(refusal([&] { check_data_set("cifar10", root.path()); }), "fetch cifar10"));
  EXPECT_THROW(check_data_set("nothing", root.path()), UsageError);
  EXPECT_TRUE(check_data_set("synthetic10", root.path()).problems.empty());
}

}  // namespace
}  // namespace sadam::data
