#include "train/record/events.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/files.h"
#include "support/refusal.h"

namespace sadam::train {
namespace {

std::string step_line(std::int64_t step, double loss = 1) {
  StepEvent event;
  event.step = step;
  event.loss = loss;
  return to_line(event);
}

class EventTailTest : public ::testing::Test {
 protected:
  // The steps seen since the last restart, as a reader keeps them.
  std::vector<std::int64_t> read() {
    tail_.read(
        [this](const Event& event) {
          if (const auto* const step = std::get_if<StepEvent>(&event)) steps_.push_back(step->step);
          ++visited_;
        },
        [this] {
          steps_.clear();
          ++restarts_;
        });
    return steps_;
  }
  void append(const std::string& text) const {
    std::ofstream(file_, std::ios::app | std::ios::binary) << text;
  }

  using Steps = std::vector<std::int64_t>;
  sadam::testing::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "events.jsonl";
  EventTail tail_{file_};
  Steps steps_;
  int visited_ = 0;
  int restarts_ = 0;
};

TEST_F(EventTailTest, ReadsEachEventOnceWhileTheFileGrows) {
  EXPECT_EQ(read(), Steps());  // not there yet
  append(step_line(1) + step_line(2));
  EXPECT_EQ(read(), Steps({1, 2}));
  EXPECT_EQ(read(), Steps({1, 2}));
  append(step_line(3));
  EXPECT_EQ(read(), Steps({1, 2, 3}));
  EXPECT_EQ(visited_, 3);
  EXPECT_EQ(restarts_, 0);
}

TEST_F(EventTailTest, WaitsForTheEndOfALine) {
  const auto line = step_line(2);
  append(step_line(1) + line.substr(0, 20));
  EXPECT_EQ(read(), Steps({1}));
  EXPECT_EQ(tail_.cut_line(), 2U);
  append(line.substr(20, 10));
  EXPECT_EQ(read(), Steps({1}));
  append(line.substr(30));
  EXPECT_EQ(read(), Steps({1, 2}));
  EXPECT_EQ(tail_.cut_line(), 0U);
  EXPECT_EQ(tail_.broken_lines(), 0U);
}

TEST_F(EventTailTest, PassesOverBrokenLinesCountsThemAndNamesTheFirst) {
  append(step_line(1) + "garbage\n" + step_line(3) + "{\"event\":\"step\"}\n\n" + step_line(6));
  EXPECT_EQ(read(), Steps({1, 3, 6}));
  EXPECT_EQ(tail_.broken_lines(), 3U);
  EXPECT_EQ(tail_.problem(), file_.string() +
                                 ": line 2 is not an event: it is no JSON object: the file is damaged or "
                                 "another one.");
}

TEST_F(EventTailTest, StartsAnewWhenTheFileWasCutBack) {
  append(step_line(1) + step_line(2) + step_line(3));
  read();
  std::filesystem::resize_file(file_, step_line(1).size());
  EXPECT_EQ(read(), Steps({1}));
  EXPECT_EQ(restarts_, 1);
}

TEST_F(EventTailTest, NoticesAFileThatWasCutBackAndHasGrownBeyondWhereItWas) {
  append(step_line(1, 1.5) + step_line(2, 1.5) + step_line(3, 1.5));
  read();
  std::filesystem::resize_file(file_, step_line(1, 1.5).size());
  append(step_line(12, 2.5) + step_line(13, 2.5) + step_line(14, 2.5) + step_line(15, 2.5));
  EXPECT_EQ(read(), Steps({1, 12, 13, 14, 15}));
  EXPECT_EQ(restarts_, 1);
}

TEST_F(EventTailTest, StartsAnewWhenTheFileWasReplacedByALongerOne) {
  append(step_line(1));
  read();
  const auto other = folder_.path() / "other";
  sadam::testing::write_text(other, step_line(1) + step_line(7));
  std::filesystem::rename(other, file_);
  EXPECT_EQ(read(), Steps({1, 7}));
  EXPECT_EQ(restarts_, 1);
}

TEST_F(EventTailTest, ForgetsWhatItReadWhenTheFileIsGone) {
  append(step_line(1) + "broken\n");
  read();
  std::filesystem::remove(file_);
  EXPECT_EQ(read(), Steps());
  EXPECT_EQ(tail_.broken_lines(), 0U);
  EXPECT_EQ(tail_.problem(), "");
  append(step_line(5));
  EXPECT_EQ(read(), Steps({5}));
}

TEST_F(EventTailTest, ALineThatNeverEndsTakesNoMemoryAndIsPassedOver) {
  append(step_line(1) + std::string(3 << 20, 'x'));
  EXPECT_EQ(read(), Steps({1}));
  EXPECT_EQ(tail_.cut_line(), 2U);
  append("\n" + step_line(2));
  EXPECT_EQ(read(), Steps({1, 2}));
  EXPECT_EQ(tail_.broken_lines(), 1U);
}

TEST_F(EventTailTest, LinesAcrossTheBordersOfBuffersAreWhole) {
  std::string text;
  Steps wanted;
  for (std::int64_t step = 1; text.size() < (2U << 20U) + 1000; ++step) {
    text += step_line(step);
    wanted.push_back(step);
  }
  append(text);
  EXPECT_EQ(read(), wanted);
}

TEST_F(EventTailTest, IsNotHeldByAPipe) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_NE(sadam::testing::refusal([this] { read(); }).find("is no file"), std::string::npos);
}

}  // namespace
}  // namespace sadam::train
