#include "train/trainer.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "train/progress.h"

namespace sadam::train {
namespace {

TEST(ShownWarnings, GoBetweenTheLinesOfTheProgress) {
  std::ostringstream said;
  Progress progress(said, {.style = ProgressStyle::live, .clock = [] { return 0.0; }});
  progress.start("a run", {1, 8});
  StepEvent event;
  event.step = 1;
  event.epoch = 1;
  progress.step(event, 1);
  const ShownWarnings shown(progress);
  said.str("");
  TORCH_WARN("sadam: the loss is ", 3, " kinds of wrong.");
  EXPECT_EQ(said.str(), "\r\033[Jthe loss is 3 kinds of wrong.\n") << "the live line goes away first";
  said.str("");
  TORCH_WARN("something of torch's own");
  EXPECT_EQ(said.str(), "something of torch's own\n");
}

TEST(ShownWarnings, LeaveOutTheStepsThatWereSkippedWhichTheProgressHas) {
  std::ostringstream said;
  Progress progress(said, {.style = ProgressStyle::quiet});
  const ShownWarnings shown(progress);
  TORCH_WARN("sadam: 10 steps were skipped so far, because the loss or a gradient was not finite");
  EXPECT_EQ(said.str(), "");
}

TEST(ShownWarnings, AreTorchsAgainAfterwards) {
  std::ostringstream said;
  Progress progress(said, {.style = ProgressStyle::quiet});
  { const ShownWarnings shown(progress); }
  ::testing::internal::CaptureStderr();
  TORCH_WARN("to the error stream");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("to the error stream"), std::string::npos);
  EXPECT_EQ(said.str(), "");
}

}  // namespace
}  // namespace sadam::train
