#include "data/folder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace sadam::data {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using Names = std::vector<std::string>;

// Two classes and three images; what the files hold does not matter to a listing.
void write_two_classes(const TemporaryFolder& folder) {
  folder.write("train/b/2.JPEG", "");
  folder.write("train/b/10.jpeg", "");
  folder.write("train/a/x.jpg", "");
  folder.write("val/a/y.jpg", "");
  folder.write("val/b/z.JPG", "");
}

void write_tiny(const TemporaryFolder& folder) {
  folder.write("wnids.txt", "n2\nn1\n");
  folder.write("train/n1/images/n1_0.JPEG", "");
  folder.write("train/n1/n1_boxes.txt", "n1_0.JPEG\t0\t0\t62\t62\n");
  folder.write("train/n2/images/n2_0.JPEG", "");
  folder.write("val/images/val_0.JPEG", "");
  folder.write("val/images/val_1.JPEG", "");
  folder.write("val/val_annotations.txt", "val_1.JPEG\tn1\t0\t0\t62\t62\nval_0.JPEG\tn2\t1\t1\t5\t5\n");
}

// The only problem of a listing.
std::string problem_of(const Folder& folder) {
  EXPECT_EQ(1u, folder.problems.size());
  return folder.problems.empty() ? "" : folder.problems.front();
}

TEST(ClassFolders, AreListedInOneOrderEverywhere) {
  const TemporaryFolder folder;
  write_two_classes(folder);
  const auto list = list_class_folders(folder.path());
  EXPECT_EQ((Names{}), list.problems);
  EXPECT_EQ((Names{"a", "b"}), list.classes);
  EXPECT_EQ((Names{"a/x.jpg", "b/10.jpeg", "b/2.JPEG"}), list.train.files);
  EXPECT_EQ((std::vector<std::int64_t>{0, 1, 1}), list.train.labels);
  EXPECT_EQ((Names{"a/y.jpg", "b/z.JPG"}), list.test.files);
  EXPECT_EQ((folder.path() / "val/b/z.JPG").string(), list.test.path(1).string());
}

TEST(ClassFolders, ManyFilesAreSorted) {
  const TemporaryFolder folder;
  write_two_classes(folder);
  for (int i = 0; i < 50; ++i) folder.write("train/a/" + std::to_string(i * 37 % 50) + ".jpg", "");
  const auto list = list_class_folders(folder.path());
  EXPECT_EQ(53u, list.train.files.size());
  EXPECT_TRUE(std::is_sorted(list.train.files.begin(), list.train.files.end()));
}

TEST(ClassFolders, TheTestPartMayBeCalledTest) {
  const TemporaryFolder folder;
  write_two_classes(folder);
  std::filesystem::rename(folder.path() / "val", folder.path() / "test");
  EXPECT_EQ(2u, list_class_folders(folder.path()).test.files.size());
}

TEST(ClassFolders, HiddenFilesAndClutterArePassedOver) {
  const TemporaryFolder folder;
  write_two_classes(folder);
  for (const auto* name : {"train/.DS_Store", "train/a/.DS_Store", "train/a/._x.jpg", "val/b/Thumbs.db"})
    folder.write(name, "");
  const auto list = list_class_folders(folder.path());
  EXPECT_EQ((Names{}), list.problems);
  EXPECT_EQ(3u, list.train.files.size());
}

TEST(ClassFolders, WhatIsNoImageIsNamedAndNotSkipped) {
  for (const std::string stray : {"train/a/notes.txt", "val/b/x.gif", "train/lost.jpg", "val/b/more/x.jpg"}) {
    const TemporaryFolder folder;
    write_two_classes(folder);
    folder.write(stray, "");
    const auto named = stray == "val/b/more/x.jpg" ? "val/b/more" : stray;
    EXPECT_TRUE(says(problem_of(list_class_folders(folder.path())), (folder.path() / named).string() + " "));
  }
}

TEST(ClassFolders, BothPartsNeedTheSameClasses) {
  const TemporaryFolder folder;
  write_two_classes(folder);
  folder.write("train/c/1.jpg", "");
  EXPECT_TRUE(says(problem_of(list_class_folders(folder.path())), "lacks classes")) << "val lacks c";
  folder.write("val/c/1.jpg", "");
  EXPECT_EQ((Names{}), list_class_folders(folder.path()).problems);
  folder.write("val/d/1.jpg", "");
  const auto list = list_class_folders(folder.path());
  EXPECT_TRUE(says(problem_of(list), "has classes"));
  EXPECT_TRUE(says(problem_of(list), "(d)"));
  EXPECT_TRUE(says(refusal([&] { refuse_problems(list); }), "(d)"));
}

TEST(ClassFolders, AnEmptyClassIsNamed) {
  const TemporaryFolder folder;
  write_two_classes(folder);
  std::filesystem::remove(folder.path() / "val/a/y.jpg");
  EXPECT_TRUE(says(problem_of(list_class_folders(folder.path())), "val/a has no images"));
}

TEST(ClassFolders, AMissingPartIsRefused) {
  const TemporaryFolder folder;
  folder.write("train/a/x.jpg", "");
  const auto sentence = refusal([&] { list_class_folders(folder.path()); });
  EXPECT_TRUE(says(sentence, (folder.path() / "val").string())) << sentence;
}

TEST(TinyImageNet, ClassesAreSortedAndAnnotationsFollowed) {
  const TemporaryFolder folder;
  write_tiny(folder);
  const auto list = list_tiny_imagenet(folder.path());
  EXPECT_EQ((Names{}), list.problems);
  EXPECT_EQ((Names{"n1", "n2"}), list.classes);
  EXPECT_EQ((Names{"n1/images/n1_0.JPEG", "n2/images/n2_0.JPEG"}), list.train.files);
  EXPECT_EQ((std::vector<std::int64_t>{0, 1}), list.train.labels);
  EXPECT_EQ((Names{"val_0.JPEG", "val_1.JPEG"}), list.test.files);
  EXPECT_EQ((std::vector<std::int64_t>{1, 0}), list.test.labels);
  EXPECT_TRUE(std::filesystem::exists(list.test.path(0)));
}

TEST(TinyImageNet, EachGapIsNamed) {
  struct Case {
    const char* file;
    const char* text;  // nullptr: the file is removed
    const char* said;
  };
  for (const auto& each :
       {Case{"val/val_annotations.txt", "val_1.JPEG\tn1\n", "val_0.JPEG has no line"},
        Case{"val/val_annotations.txt", "val_0.JPEG\tn1\n", "val_1.JPEG has no line"},
        Case{"val/val_annotations.txt", "val_1.JPEG\tn1\nval_0.JPEG\tn3\n", "line 2 names the class n3"},
        Case{"val/images/val_1.JPEG", nullptr, "line 1 names val_1.JPEG, which is not there"},
        Case{"train/n2/images/n2_0.JPEG", nullptr, "images has no images"},
        Case{"train/n3/images/n3_0.JPEG", "", "n3 is no class of wnids.txt"},
        Case{"wnids.txt", "n1\nn2\nn3\n", "n3/images for a class"}}) {
    const TemporaryFolder folder;
    write_tiny(folder);
    if (each.text != nullptr)
      folder.write(each.file, each.text);
    else
      std::filesystem::remove(folder.path() / each.file);
    const auto said = problem_of(list_tiny_imagenet(folder.path()));
    EXPECT_TRUE(says(said, each.said)) << said;
  }
}

TEST(TinyImageNet, ADamagedListIsRefusedWithItsNameAndLine) {
  const TemporaryFolder folder;
  write_tiny(folder);
  folder.write("val/val_annotations.txt", "val_1.JPEG\tn1\nval_0.JPEG n2\n");
  const auto sentence = refusal([&] { list_tiny_imagenet(folder.path()); });
  EXPECT_TRUE(says(sentence, "val_annotations.txt: line 2 has no tab")) << sentence;
}

TEST(Annotations, LinesOfAnotherFormAreRefused) {
  for (const char* text : {"a.JPEG\n", "\tn1\n", "a.JPEG\t\tn1\n", "../a.JPEG\tn1\n", "a.JPEG\tn/1\n",
                           "a.JPEG\tn1\n\nb.JPEG\tn1\na.JPEG\tn2\n"})
    EXPECT_TRUE(says(refusal([&] { read_annotations(text); }), "line ")) << text;
  EXPECT_TRUE(says(refusal([&] { read_annotations("a\tn1\n\nb\tn1\na\tn2\n"); }), "line 4 "));
  for (const char* text : {"n1\nn1\n", "n1\n..\n", "n1\nn/2\n"})
    EXPECT_TRUE(says(refusal([&] { read_class_names(text); }), "line 2 ")) << text;
}

TEST(Annotations, LineEndsMayBeWindows) {
  EXPECT_EQ((Names{"n1", "n2"}), read_class_names("n2\r\nn1"));
  const auto list = read_annotations("a.JPEG\tn1\r\nb.JPEG\tn2\t1\t2");
  ASSERT_EQ(2u, list.size());
  EXPECT_EQ("n1", list[0].class_name);
  EXPECT_EQ("n2", list[1].class_name);
}

}  // namespace
}  // namespace sadam::data
