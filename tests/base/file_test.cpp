#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "support/files.h"

namespace sadam::base {
namespace {

namespace fs = std::filesystem;
using sadam::testing::Child;
using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::TemporaryFolder;
using sadam::testing::text_of_file;
using sadam::testing::write_text;

std::string as_string(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ReadFile, GivesAllBytes) {
  const TemporaryFolder folder;
  for (const std::size_t length : {0, 1, 4095, 4096, 4097, 100000}) {
    std::string content(length, '\0');
    for (std::size_t i = 0; i < length; ++i) content[i] = static_cast<char>(i * 7);
    write_text(folder / "x", content);
    EXPECT_EQ(content, as_string(read_file(folder / "x"))) << length;
  }
}

TEST(ReadFile, ReadsFilesThatDoNotKnowTheirSize) {
  EXPECT_FALSE(read_file("/proc/self/status").empty());
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(0, ::mkfifo(pipe.c_str(), 0600));
  const std::string content(300000, 'p');
  std::thread writer([&] { write_text(pipe, content); });
  const auto bytes = read_file(pipe);
  writer.join();
  EXPECT_EQ(content, as_string(bytes));
}

TEST(ReadFile, NamesTheFileAndTheReason) {
  const TemporaryFolder folder;
  const auto absent = folder / "x.bin";
  EXPECT_EQ("cannot open " + absent.string() + ": No such file or directory.",
            refusal([&] { read_file(absent); }));
  EXPECT_TRUE(says(refusal([&] { read_file(folder.path()); }),
                   folder.path().string() + ": it is not a regular file"));
  EXPECT_TRUE(says(refusal([] { read_file("/dev/zero"); }), "/dev/zero: it is not a regular file"));
}

TEST(WriteFileAtomically, WritesAndReplaces) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "one");
  EXPECT_EQ("one", text_of_file(folder / "x"));
  write_file_atomically(folder / "x", "the second");
  EXPECT_EQ("the second", text_of_file(folder / "x"));
  write_file_atomically(folder / "x", "");
  EXPECT_EQ("", text_of_file(folder / "x"));
  EXPECT_EQ(std::set<std::string>{"x"}, folder.names());
}

TEST(WriteFileAndKeepPrevious, KeepsTheOneBeforeTheLast) {
  const TemporaryFolder folder;
  const auto write = [&](std::string_view text) {
    write_file_and_keep_previous(folder / "x", std::as_bytes(std::span(text)), folder / "before");
  };
  write("one");
  EXPECT_EQ(std::set<std::string>{"x"}, folder.names());
  write("two");
  write("three");
  EXPECT_EQ("three", text_of_file(folder / "x"));
  EXPECT_EQ("two", text_of_file(folder / "before"));
  EXPECT_EQ((std::set<std::string>{"x", "before"}), folder.names());
  name_also(folder / "before", folder / "x");  // one file with both names
  write("four");
  EXPECT_EQ("four", text_of_file(folder / "x"));
  EXPECT_EQ("two", text_of_file(folder / "before"));
}

TEST(WriteFileAndKeepPrevious, AFullDiskLeavesBoth) {
  const TemporaryFolder folder;
  write_text(folder / "x", "last");
  write_text(folder / "before", "before");
  const auto full = [&] {
    sadam::testing::limit_file_size(10);
    const std::string text(100, 'x');
    write_file_and_keep_previous(folder / "x", std::as_bytes(std::span(text)), folder / "before");
    return 0;
  };
  EXPECT_EQ(99, Child(full).status());
  EXPECT_EQ("last", text_of_file(folder / "x"));
  EXPECT_EQ("before", text_of_file(folder / "before"));
}

TEST(NameAlso, GivesAFileASecondNameThatKeepsItsBytes) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "one");
  write_text(folder / "y.tmp", "what a killed process left");
  for (int i = 0; i < 2; ++i) {
    name_also(folder / "x", folder / "y");
    EXPECT_EQ("one", text_of_file(folder / "y"));
    EXPECT_EQ((std::set<std::string>{"x", "y"}), folder.names());
  }
  write_file_atomically(folder / "x", "two");
  EXPECT_EQ("one", text_of_file(folder / "y"));
  EXPECT_TRUE(says(refusal([&] { name_also(folder / "none", folder / "y"); }), "none"));
  EXPECT_EQ("one", text_of_file(folder / "y"));
}

TEST(WriteFileAtomically, WhatAKilledWriterLeftIsWrittenOver) {
  const TemporaryFolder folder;
  write_text(folder / "x.tmp", "the longer remains of a process that was killed");
  write_file_atomically(folder / "x", "whole");
  EXPECT_EQ("whole", text_of_file(folder / "x"));
  EXPECT_EQ(std::set<std::string>{"x"}, folder.names());
}

TEST(WriteFileAtomically, AFullDiskLeavesTheEarlierFile) {
  const TemporaryFolder folder;
  const auto path = folder / "x";
  write_file_atomically(path, "earlier");
  Child child([&] {
    sadam::testing::limit_file_size(1000);
    const auto sentence = refusal([&] { write_file_atomically(path, std::string(100000, 'n')); });
    return says(sentence, "cannot write " + path.string() + ": File too large.") ? 0 : 1;
  });
  EXPECT_EQ(0, child.status());
  EXPECT_EQ("earlier", text_of_file(path));
  EXPECT_EQ(std::set<std::string>{"x"}, folder.names());
}

TEST(WriteFileAtomically, AFolderThatCannotBeWrittenIsNamed) {
  const TemporaryFolder folder;
  const auto path = folder / "x";
  write_file_atomically(path, "earlier");
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                                     fs::perms::others_exec);
  Child child([&] {
    if (!sadam::testing::give_up_root()) return 2;
    const auto sentence = refusal([&] { write_file_atomically(path, "new"); });
    return says(sentence, "cannot write " + path.string() + ": Permission denied.") ? 0 : 1;
  });
  const int status = child.status();
  fs::permissions(folder.path(), fs::perms::owner_all);
  if (status == 2) GTEST_SKIP() << "root here cannot become anybody else";
  EXPECT_EQ(0, status);
  EXPECT_EQ("earlier", text_of_file(path));
  EXPECT_TRUE(says(refusal([&] { write_file_atomically(folder / "none/x", "new"); }), "none: No such file"));
}

TEST(WriteFileAtomically, AProcessKilledAtAnyMomentLeavesAWholeFile) {
  const TemporaryFolder folder;
  const auto path = folder / "x";
  const std::string a(3000000, 'a');
  const std::string b(2000000, 'b');
  write_file_atomically(path, a);
  for (int round = 0; round < 8; ++round) {
    Child child([&] {
      while (true) {
        write_file_atomically(path, b);
        write_file_atomically(path, a);
      }
      return 0;
    });
    std::this_thread::sleep_for(sadam::testing::moment(round));
    child.kill();
    const auto found = text_of_file(path);
    EXPECT_TRUE(found == a || found == b) << found.size() << " bytes";
  }
}

TEST(WriteFileAtomically, OfTwoWritersAtOnceOneWinsWhole) {
  const TemporaryFolder folder;
  const auto path = folder / "x";
  const auto write_often = [&](char letter, std::size_t length) {
    for (int i = 0; i < 50; ++i) write_file_atomically(path, std::string(length, letter));
  };
  write_file_atomically(path, "a");
  std::thread first(write_often, 'a', 50000);
  std::thread second(write_often, 'b', 70000);
  for (int i = 0; i < 200; ++i) {
    const auto found = as_string(read_file(path));
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found, std::string(found.size(), found[0]));
    EXPECT_TRUE(found.size() == 1 || found.size() == (found[0] == 'a' ? 50000U : 70000U)) << found.size();
  }
  first.join();
  second.join();
  EXPECT_EQ(std::set<std::string>{"x"}, folder.names());
}

// Before minutes of work, and not after them.
TEST(WritableTarget, IsRefusedWhereTheFolderCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_EQ(folder / "x", writable_target(folder / "x"));
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                                     fs::perms::others_exec);
  Child child([&] {
    if (!sadam::testing::give_up_root()) return 2;
    return says(refusal([&] { writable_target(folder / "x"); }), "cannot write " + (folder / "x").string())
               ? 0
               : 1;
  });
  const int status = child.status();
  fs::permissions(folder.path(), fs::perms::owner_all);
  if (status == 2) GTEST_SKIP() << "root here cannot become anybody else";
  EXPECT_EQ(0, status);
}

}  // namespace
}  // namespace sadam::base
