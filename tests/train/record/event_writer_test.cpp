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

TEST(EventWriter, AppendsAndKnowsItsLength) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  EventWriter writer(path, 0);
  EXPECT_EQ(FileMark(), writer.sync());
  writer.write(numbered(1));
  EXPECT_EQ(to_line(numbered(1)), text_of_file(path));  // at once: a killed process loses nothing it wrote
  writer.write(numbered(2));
  EXPECT_EQ(fs::file_size(path), writer.sync().bytes);
  auto moved = std::move(writer);
  moved.write(NoteEvent{"moved"});
  EXPECT_EQ(fs::file_size(path), moved.sync().bytes);
  EXPECT_EQ((std::vector<std::int64_t>{1, 2}), steps_in(path));
}

TEST(EventWriter, ResumesWhereTheCheckpointWas) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  FileMark kept;
  {
    EventWriter writer(path, 0);
    writer.write(numbered(1));
    kept = writer.sync();
    writer.write(numbered(2));
    writer.write(numbered(3));
  }
  EventWriter resumed(path, kept.bytes);
  EXPECT_EQ(kept, resumed.sync());
  resumed.write(numbered(20));
  EXPECT_EQ((std::vector<std::int64_t>{1, 20}), steps_in(path));
  EXPECT_EQ(fs::file_size(path), resumed.sync().bytes);
}

TEST(EventWriter, KnowsTheChecksumOfTheWholeFileAlsoWhenItWentOn) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  const auto whole = [&] { return checksum_of_first(fs::file_size(path), path); };
  FileMark kept;
  {
    EventWriter writer(path, 0);
    for (int i = 0; i < 5; ++i) writer.write(numbered(i));
    kept = writer.sync();
    EXPECT_EQ(whole(), kept.checksum);
    writer.write(numbered(9));
  }
  EventWriter resumed(path, kept.bytes);
  EXPECT_EQ(kept, resumed.sync());
  resumed.write(numbered(6));
  EXPECT_EQ(whole(), resumed.sync().checksum);
  EXPECT_NE(kept.checksum, resumed.sync().checksum);
}

TEST(EventWriter, ANewRunStartsFromNothing) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  write_text(path, "old");
  EventWriter writer(path, 0);
  writer.write(numbered(1));
  EXPECT_EQ((std::vector<std::int64_t>{1}), steps_in(path));
}

TEST(EventWriter, AFileShorterThanTheCheckpointSaysIsRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  write_text(path, "12345");
  EXPECT_TRUE(says(refusal([&] { EventWriter(path, 6); }), path.string() + " has 5 bytes and had 6"));
  EXPECT_EQ("12345", text_of_file(path));
  EXPECT_TRUE(says(refusal([&] { EventWriter(folder / "none", 6); }), "No such file or directory"));
  EXPECT_FALSE(fs::exists(folder / "none"));
}

TEST(EventWriter, AFullDiskIsASentence) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  fs::create_symlink("/dev/full", path);
  EventWriter writer(path, 0);
  EXPECT_EQ("cannot write " + path.string() + ": No space left on device; make room and try again.",
            refusal([&] { writer.write(numbered(1)); }));
}

TEST(EventWriter, ADiskThatFillsUpLeavesWholeLines) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  const auto line = to_line(numbered(1)).size();
  Child child([&] {
    sadam::testing::limit_file_size(3 * line + line / 2);
    EventWriter writer(path, 0);
    for (int i = 0; i < 3; ++i) writer.write(numbered(1));
    const auto sentence = refusal([&] { writer.write(numbered(1)); });
    return says(sentence, "cannot write " + path.string() + ": File too large.") &&
                   writer.sync().bytes == 3 * line
               ? 0
               : 1;
  });
  EXPECT_EQ(0, child.status());
  EXPECT_EQ(3U, steps_in(path).size());
  EXPECT_EQ(3 * line, fs::file_size(path));
}

TEST(EventWriter, AFolderThatCannotBeWrittenIsASentence) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                                     fs::perms::others_exec);
  Child child([&] {
    if (!sadam::testing::give_up_root()) return 2;
    const auto sentence = refusal([&] { EventWriter(path, 0); });
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

TEST(EventWriter, AProcessKilledAtAnyMomentResumesFromItsCheckpoint) {
  for (int round = 0; round < 8; ++round) {
    const TemporaryFolder folder;
    const auto path = folder / "events.jsonl";
    const Reports reports;
    Child child([&] {
      EventWriter writer(path, 0);
      for (std::int64_t step = 1;; ++step) {
        writer.write(numbered(step));
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
    EventWriter writer(path, kept);
    const auto after = steps_in(path);
    ASSERT_FALSE(after.empty());
    EXPECT_EQ(0U, read_events(path).cut_line);
    EXPECT_EQ(0, after.back() % 10) << "it does not end where the checkpoint was";
    EXPECT_EQ(static_cast<std::int64_t>(after.size()), after.back());
    writer.write(numbered(after.back() + 1));
    EXPECT_EQ(after.size() + 1, steps_in(path).size());
  }
}

}  // namespace
}  // namespace sadam::train
