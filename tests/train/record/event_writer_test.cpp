// What the writer leaves on disk, whatever happens to its process.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <thread>

#include "support/files.h"
#include "train/record/events.h"

namespace sadam::train {
namespace {

namespace fs = std::filesystem;
using sadam::testing::Child;
using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::text_of_file;
using sadam::testing::write_text;

StepEvent numbered(std::int64_t step) {
  StepEvent event;
  event.step = step;
  return event;
}

std::vector<std::int64_t> steps_in(const fs::path& path) {
  std::vector<std::int64_t> steps;
  for (const auto& event : read_events(path).steps) steps.push_back(event.step);
  return steps;
}

TEST(AppendFile, AppendsAndKnowsItsLength) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  AppendFile writer(path, 0);
  EXPECT_EQ(FileMark(), writer.sync());
  writer.append(to_line(numbered(1)));
  EXPECT_EQ(to_line(numbered(1)), text_of_file(path));  // at once: a killed process loses nothing it wrote
  writer.append(to_line(numbered(2)));
  EXPECT_EQ(fs::file_size(path), writer.sync().bytes);
  auto moved = std::move(writer);
  moved.append(to_line(NoteEvent{"moved"}));
  EXPECT_EQ(fs::file_size(path), moved.sync().bytes);
  EXPECT_EQ((std::vector<std::int64_t>{1, 2}), steps_in(path));
}

TEST(AppendFile, ResumesWhereTheCheckpointWas) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  FileMark kept;
  {
    AppendFile writer(path, 0);
    writer.append(to_line(numbered(1)));
    kept = writer.sync();
    writer.append(to_line(numbered(2)));
    writer.append(to_line(numbered(3)));
  }
  AppendFile resumed(path, kept.bytes);
  EXPECT_EQ(kept, resumed.sync());
  resumed.append(to_line(numbered(20)));
  EXPECT_EQ((std::vector<std::int64_t>{1, 20}), steps_in(path));
  EXPECT_EQ(fs::file_size(path), resumed.sync().bytes);
}

TEST(AppendFile, KnowsTheChecksumOfTheWholeFileAlsoWhenItWentOn) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  const auto whole = [&] { return checksum_of_first(fs::file_size(path), path); };
  FileMark kept;
  {
    AppendFile writer(path, 0);
    for (int i = 0; i < 5; ++i) writer.append(to_line(numbered(i)));
    kept = writer.sync();
    EXPECT_EQ(whole(), kept.checksum);
    writer.append(to_line(numbered(9)));
  }
  AppendFile resumed(path, kept.bytes);
  EXPECT_EQ(kept, resumed.sync());
  resumed.append(to_line(numbered(6)));
  EXPECT_EQ(whole(), resumed.sync().checksum);
  EXPECT_NE(kept.checksum, resumed.sync().checksum);
}

TEST(AppendFile, ANewRunStartsFromNothing) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  write_text(path, "old");
  AppendFile writer(path, 0);
  writer.append(to_line(numbered(1)));
  EXPECT_EQ((std::vector<std::int64_t>{1}), steps_in(path));
}

TEST(AppendFile, AFileShorterThanTheCheckpointSaysIsRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  write_text(path, "12345");
  EXPECT_TRUE(says(refusal([&] { AppendFile(path, 6); }), path.string() + " has 5 bytes and had 6"));
  EXPECT_EQ("12345", text_of_file(path));
  EXPECT_TRUE(says(refusal([&] { AppendFile(folder / "none", 6); }), "No such file or directory"));
  EXPECT_FALSE(fs::exists(folder / "none"));
}

TEST(AppendFile, AFullDiskIsASentence) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  fs::create_symlink("/dev/full", path);
  AppendFile writer(path, 0);
  EXPECT_EQ("cannot write " + path.string() + ": No space left on device; make room and try again.",
            refusal([&] { writer.append(to_line(numbered(1))); }));
}

TEST(AppendFile, ADiskThatFillsUpLeavesWholeLines) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  const auto line = to_line(numbered(1)).size();
  Child child([&] {
    sadam::testing::limit_file_size(3 * line + line / 2);
    AppendFile writer(path, 0);
    for (int i = 0; i < 3; ++i) writer.append(to_line(numbered(1)));
    const auto sentence = refusal([&] { writer.append(to_line(numbered(1))); });
    return says(sentence, "cannot write " + path.string() + ": File too large.") &&
                   writer.sync().bytes == 3 * line
               ? 0
               : 1;
  });
  EXPECT_EQ(0, child.status());
  EXPECT_EQ(3U, steps_in(path).size());
  EXPECT_EQ(3 * line, fs::file_size(path));
}

TEST(AppendFile, AFolderThatCannotBeWrittenIsASentence) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                                     fs::perms::others_exec);
  Child child([&] {
    if (!sadam::testing::give_up_root()) return 2;
    const auto sentence = refusal([&] { AppendFile(path, 0); });
    return says(sentence, "cannot write " + path.string() + ": Permission denied.") ? 0 : 1;
  });
  const int status = child.status();
  fs::permissions(folder.path(), fs::perms::owner_all);
  if (status == 2) GTEST_SKIP() << "root here cannot become anybody else";
  EXPECT_EQ(0, status);
}

/// Two ends of a pipe through which a child says how far it is.
class Reports {
 public:
  Reports() {
    if (::pipe(ends_.data()) != 0) throw std::runtime_error("no pipe");
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports() {
    for (const int end : ends_) ::close(end);
  }

  void send(std::uint64_t length) const {
    if (::write(ends_[1], &length, sizeof length) != sizeof length) ::_exit(98);
  }
  /// Whether a length is reported within ten seconds.
  bool wait() const { return poll(10'000); }
  /// The last length reported; 0 if there was none.
  std::uint64_t last() const {
    std::uint64_t length = 0;
    while (poll(0) && ::read(ends_[0], &length, sizeof length) == sizeof length) continue;
    return length;
  }

 private:
  bool poll(int milliseconds) const {
    pollfd readable{ends_[0], POLLIN, 0};
    return ::poll(&readable, 1, milliseconds) == 1 && (readable.revents & POLLIN) != 0;
  }

  std::array<int, 2> ends_{};
};

TEST(AppendFile, AProcessKilledAtAnyMomentResumesFromItsCheckpoint) {
  for (int round = 0; round < 8; ++round) {
    const TemporaryFolder folder;
    const auto path = folder / "events.jsonl";
    const Reports reports;
    Child child([&] {
      AppendFile writer(path, 0);
      for (std::int64_t step = 1;; ++step) {
        writer.append(to_line(numbered(step)));
        if (step % 10 == 0) reports.send(writer.sync().bytes);  // a checkpoint
      }
      return 0;
    });
    ASSERT_TRUE(reports.wait()) << "there is no first checkpoint";
    std::this_thread::sleep_for(sadam::testing::moment(round));
    child.kill();
    const auto kept = reports.last();
    const auto before = steps_in(path);
    EXPECT_GE(before.size(), kept / to_line(numbered(1)).size() / 2);
    AppendFile writer(path, kept);
    const auto after = steps_in(path);
    ASSERT_FALSE(after.empty());
    EXPECT_EQ(0U, read_events(path).cut_line);
    EXPECT_EQ(0, after.back() % 10) << "it does not end where the checkpoint was";
    EXPECT_EQ(static_cast<std::int64_t>(after.size()), after.back());
    writer.append(to_line(numbered(after.back() + 1)));
    EXPECT_EQ(after.size() + 1, steps_in(path).size());
  }
}

}  // namespace
}  // namespace sadam::train
