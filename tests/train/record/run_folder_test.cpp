#include "train/record/run_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <optional>

#include "base/usage_error.h"
#include "support/files.h"

namespace sadam::train {
namespace {

namespace fs = std::filesystem;
using sadam::testing::Child;
using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::text_of_file;
using sadam::testing::write_text;

TEST(RunFolder, IsMadeWithItsParents) {
  const TemporaryFolder root;
  const auto run = RunFolder::create(root / "runs/table1/a");
  EXPECT_TRUE(fs::is_directory(root / "runs/table1/a"));
  EXPECT_EQ(root / "runs/table1/a/run.toml", run.paths().recipe());
  EXPECT_EQ(root / "runs/table1/a/events.jsonl", run.paths().events());
}

TEST(RunFolder, ARunIsNotWrittenOver) {
  const TemporaryFolder root;
  write_text(RunFolder::create(root / "a").paths().recipe(), "seed = 1\n");
  EXPECT_EQ("there is a run in " + (root / "a").string() +
                " already: continue it with --resume, or choose another --name.",
            refusal([&] { RunFolder::create(root / "a"); }));
  EXPECT_EQ("seed = 1\n", text_of_file(root / "a/run.toml"));
}

TEST(RunFolder, OnlyARunCanBeOpened) {
  const TemporaryFolder root;
  EXPECT_TRUE(
      says(refusal([&] { RunFolder::open(root / "a"); }), "there is no run in " + (root / "a").string()));
  EXPECT_FALSE(fs::exists(root / "a"));
  { const auto made = RunFolder::create(root / "a"); }
  EXPECT_TRUE(says(refusal([&] { RunFolder::open(root / "a"); }), "it has no run.toml"));
  write_text(root / "a/run.toml", "");
  EXPECT_EQ(root / "a", RunFolder::open(root / "a").paths().folder);
}

TEST(RunFolder, AFileInItsPlaceIsASentence) {
  const TemporaryFolder root;
  write_text(root / "a", "");
  EXPECT_TRUE(
      says(refusal([&] { RunFolder::create(root / "a"); }), (root / "a").string() + ": Not a directory"));
}

TEST(RunFolder, ASecondProcessIsKeptOut) {
  const TemporaryFolder root;
  auto first = std::optional(RunFolder::create(root / "a"));
  write_text(root / "a/run.toml", "");
  const auto tries = [&](auto attempt) {
    Child child([&] {
      const auto sentence = refusal(attempt);
      return says(sentence, "another process is using the run folder " + (root / "a").string()) ? 0 : 1;
    });
    return child.status();
  };
  EXPECT_EQ(0, tries([&] { RunFolder::open(root / "a"); }));
  EXPECT_EQ(0, tries([&] { RunFolder::create(root / "a"); }));
  // The lock moves with its owner, and goes with it.
  auto moved = std::move(*first);
  first.reset();
  EXPECT_EQ(0, tries([&] { RunFolder::open(root / "a"); }));
  moved = RunFolder::create(root / "b");
  EXPECT_NO_THROW(RunFolder::open(root / "a"));
}

TEST(RunFolder, AKilledProcessLeavesNoLock) {
  const TemporaryFolder root;
  fs::create_directory(root / "a");
  write_text(root / "a/run.toml", "");
  Child child([&] {
    const auto held = RunFolder::open(root / "a");
    write_text(root / "ready", "");
    while (true) ::pause();
    return 0;
  });
  while (!fs::exists(root / "ready")) ::usleep(1000);
  EXPECT_TRUE(says(refusal([&] { RunFolder::open(root / "a"); }), "another process"));
  child.kill();
  EXPECT_NO_THROW(RunFolder::open(root / "a"));
}

TEST(RunFolder, AReaderThatLooksForAMomentIsWaitedFor) {
  const TemporaryFolder root;
  fs::create_directory(root / "a");
  write_text(root / "a/run.toml", "");
  Child reader([&] {
    const int folder = ::open((root / "a").c_str(), O_RDONLY | O_DIRECTORY);
    ::flock(folder, LOCK_SH);
    write_text(root / "ready", "");
    ::usleep(50'000);
    return 0;
  });
  while (!fs::exists(root / "ready")) ::usleep(1000);
  EXPECT_NO_THROW(RunFolder::open(root / "a", std::chrono::seconds(60)));
}

TEST(RunFolder, AFolderThatCannotBeMadeIsASentence) {
  const TemporaryFolder root;
  fs::permissions(root.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                                   fs::perms::others_exec);
  Child child([&] {
    if (!sadam::testing::give_up_root()) return 2;
    const auto sentence = refusal([&] { RunFolder::create(root / "a"); });
    return says(sentence, "cannot make the folder " + (root / "a").string() + ": Permission denied.") ? 0 : 1;
  });
  const int status = child.status();
  fs::permissions(root.path(), fs::perms::owner_all);
  if (status == 2) GTEST_SKIP() << "root here cannot become anybody else";
  EXPECT_EQ(0, status);
}

TEST(FindRun, TakesAFolderOrANameBelowTheRoot) {
  const TemporaryFolder root;
  for (const std::string name : {"runs/first", "runs/table1/c", "other"}) {
    fs::create_directories(root / name);
    write_text(root / (name + "/run.toml"), "");
  }
  EXPECT_EQ(root / "runs/first", find_run("first", root / "runs").folder);
  EXPECT_EQ(root / "runs/table1/c", find_run("table1/c", root / "runs").folder);
  EXPECT_EQ(root / "other", find_run((root / "other").string(), root / "runs").folder);
}

TEST(FindRun, WhatIsNotThereIsASentenceWithTheNearestName) {
  const TemporaryFolder root;
  fs::create_directories(root / "runs/first");
  write_text(root / "runs/first/run.toml", "");
  const auto sentence_of = [&](const std::string& name) {
    return refusal<UsageError>([&] { find_run(name, root / "runs"); });
  };
  EXPECT_EQ("there is no run 'frist', neither as a folder nor below " + (root / "runs").string() +
                "; did you mean 'first'?",
            sentence_of("frist"));
  EXPECT_TRUE(says(sentence_of("quite another"), "'sadam runs' lists"));
  EXPECT_TRUE(says(sentence_of("a\033b"), "'a?b'"));
  EXPECT_TRUE(says(sentence_of(""), "there is no run ''"));
}

TEST(FindRun, AFolderThatLostItsRecipeIsNotTakenForNone) {
  const TemporaryFolder root;
  fs::create_directories(root / "runs/first");
  write_text(root / "runs/first/checkpoint.pt", "");
  for (const auto& name : {std::string("first"), (root / "runs/first").string()})
    EXPECT_EQ(
        (root / "runs/first").string() +
            " has checkpoint.pt in it and no run.toml, which says what the run was told: put it back, or "
            "remove the folder and start the run anew.",
        refusal([&] { find_run(name, root / "runs"); }));
  EXPECT_TRUE(says(refusal([&] { RunFolder::open(root / "runs/first"); }), "put it back"));
}

TEST(FindRun, AFileOfARunIsAnsweredWithItsFolder) {
  const TemporaryFolder root;
  fs::create_directories(root / "runs/first");
  write_text(root / "runs/first/run.toml", "");
  write_text(root / "runs/first/checkpoint.pt", "");
  const auto file = (root / "runs/first/checkpoint.pt").string();
  EXPECT_EQ(file + " is a file of the run " + (root / "runs/first").string() + ": give that folder.",
            refusal<UsageError>([&] { find_run(file, root / "runs"); }));
  EXPECT_FALSE(run_with_file(root / "runs/first"));
  EXPECT_FALSE(run_with_file(root / "runs/checkpoint.pt"));
}

TEST(FindRuns, AFolderWithOneFileThatMayBeSomebodyElsesIsNoRun) {
  const TemporaryFolder root;
  for (const std::string name : {"other", "left"}) fs::create_directories(root / name);
  write_text(root / "other/checkpoint.pt", "");
  EXPECT_TRUE(find_runs(root.path()).empty());
  write_text(root / "left/checkpoint.pt", "");
  write_text(root / "left/events.jsonl", "");
  EXPECT_EQ(1U, find_runs(root.path()).size());
}

TEST(FindRuns, FindsFoldersThatHoldARunByName) {
  const TemporaryFolder root;
  for (const std::string name : {"b", "a", "table1/c", "empty", "a/tensorboard"})
    fs::create_directories(root / name);
  for (const std::string name : {"b", "a", "table1/c", "a/tensorboard"})
    write_text(root / (name + "/run.toml"), "");
  fs::create_directory_symlink(root.path(), root / "loop");
  fs::create_directories(root / "odd/run.toml");
  std::vector<fs::path> found;
  for (const auto& run : find_runs(root.path())) found.push_back(run.folder);
  EXPECT_EQ((std::vector<fs::path>{root / "a", root / "b", root / "table1/c"}), found);
  EXPECT_TRUE(find_runs(root / "none").empty());
}

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
