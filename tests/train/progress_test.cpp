#include "train/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>

#include "base/text.h"

namespace sadam::train {
namespace {

const std::string clear_line = "\r\033[J";

/// A progress display with a clock that is moved by hand and a terminal of any width.
class ProgressTest : public ::testing::Test {
 protected:
  Progress& show(ProgressStyle style, bool brief = false) {
    progress_ = std::make_unique<Progress>(out_, ProgressOptions{.style = style,
                                                                 .clock = [this] { return now_; },
                                                                 .columns = [this] { return columns_; },
                                                                 .brief = brief});
    return *progress_;
  }

  /// A step that takes `seconds`.
  void step(double seconds, double loss = 2, double lgi = 0.5, double brake = 0.25, bool probed = true,
            bool skipped = false) {
    now_ += seconds;
    train_seconds_ += seconds;
    ++steps_;
    StepEvent event;
    event.step = steps_;
    event.epoch = (steps_ - 1) / 100 + 1;
    event.loss = loss;
    event.lgi = lgi;
    event.brake = brake;
    event.probed = probed;
    event.skipped = skipped;
    progress_->step(event, train_seconds_);
  }

  static EpochEvent epoch(std::int64_t number) {
    EpochEvent event;
    event.epoch = number;
    event.step = 100 * number;
    event.train_loss = 2.5;
    event.test_loss = 2.25;
    event.test_accuracy = 0.1691;
    event.mean_lgi = 0.471;
    event.mean_brake = 0.39;
    event.train_seconds = 151;
    event.evaluate_seconds = 7.0 * static_cast<double>(number);
    return event;
  }

  std::string written() {
    auto text = out_.str();
    out_.str("");
    return text;
  }

  std::ostringstream out_;
  double now_ = 1000;
  double train_seconds_ = 0;
  std::int64_t steps_ = 0;
  std::size_t columns_ = 200;
  std::unique_ptr<Progress> progress_;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t result = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++result;
  return result;
}

TEST_F(ProgressTest, QuietPrintsNothing) {
  auto& progress = show(ProgressStyle::quiet);
  progress.start("a", {2, 100});
  for (int i = 0; i < 100; ++i) step(1);
  progress.epoch(epoch(1), {});
  progress.note("note");
  progress.finish();
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, PlainWritesWholeLinesWithoutEscapes) {
  auto& progress = show(ProgressStyle::plain);
  progress.start("runs/a", {10, 100});
  EXPECT_EQ(written(), "runs/a: 10 epochs of 100 steps\n");
  for (int i = 0; i < 65; ++i) step(1);
  EXPECT_EQ(written(),
            "epoch  1/10  step 30/100  1.00 step/s  ETA 16:10  loss 2.0000  ρ 0.500  brake 0.250\n"
            "epoch  1/10  step 60/100  1.00 step/s  ETA 15:40  loss 2.0000  ρ 0.500  brake 0.250\n");
  progress.epoch(epoch(1), {});
  EXPECT_EQ(written(), "epoch  1/10  test 16.91 %  loss 2.2500  train 2.5000  ρ 0.471  brake 0.390  2:31\n");
  progress.note("the disk is nearly full");
  progress.finish();
  EXPECT_EQ(written(), "the disk is nearly full\n");
}

TEST_F(ProgressTest, OneOfManyRunsHasItsNameInTheLiveLineAndNoLinesOfItsOwn) {
  auto& progress = show(ProgressStyle::live, true);
  progress.start("runs/grid/lr1e-4", {10, 100});
  progress.epoch(epoch(1), {});
  EXPECT_EQ(written(), "");
  step(1);
  EXPECT_EQ(written().find(clear_line + "lr1e-4  epoch  1/10 "), 0U);
}

TEST_F(ProgressTest, SaysWhereAResumedRunGoesOn) {
  show(ProgressStyle::plain).start("a", {1, 100, 40});
  EXPECT_EQ(written(), "a: 1 epoch of 100 steps, going on after step 40\n");
}

TEST_F(ProgressTest, LiveRedrawsAtMostTenTimesASecond) {
  auto& progress = show(ProgressStyle::live);
  progress.start("a", {2, 100});
  written();
  for (int i = 0; i < 1000; ++i) step(0.002);
  const auto redraws = count(written(), clear_line);
  EXPECT_GE(redraws, 18U);
  EXPECT_LE(redraws, 21U);
}

TEST_F(ProgressTest, LiveLineFitsTheTerminal) {
  auto& progress = show(ProgressStyle::live);
  progress.start("a", {2, 100});
  for (columns_ = 1; columns_ < 120; ++columns_) {
    written();
    step(1);
    const auto text = written();
    ASSERT_EQ(text.rfind(clear_line, 0), 0U);
    ASSERT_EQ(text.back(), '\r') << "where clearing begins, however the terminal has broken the line";
    ASSERT_LT(base::display_width(text.substr(clear_line.size(), text.size() - clear_line.size() - 1)),
              columns_);
  }
}

TEST_F(ProgressTest, ANarrowTerminalLosesWholeFieldsAndNeverPartOfANumber) {
  const auto line_at = [&](std::size_t columns) {
    columns_ = columns;
    steps_ = 0;
    train_seconds_ = 0;
    show(ProgressStyle::live).start("a", {10, 100});
    written();
    step(1);
    const auto text = written();
    return text.substr(clear_line.size(), text.size() - clear_line.size() - 1);
  };
  EXPECT_EQ(line_at(84),
            "epoch  1/10 ░░░░░░░░░░░░  1.00 step/s  ETA 16:39  loss 2.0000  ρ 0.500  brake 0.250");
  EXPECT_EQ(line_at(80), "epoch  1/10 ░░░░░░░░  1.00 step/s  ETA 16:39  loss 2.0000  ρ 0.500  brake 0.250");
  EXPECT_EQ(line_at(75), "epoch  1/10  1.00 step/s  ETA 16:39  loss 2.0000  ρ 0.500  brake 0.250");
  EXPECT_EQ(line_at(70), "epoch  1/10  ETA 16:39  loss 2.0000  ρ 0.500  brake 0.250");
  EXPECT_EQ(line_at(57), "epoch  1/10  ETA 16:39  loss 2.0000  brake 0.250");
  EXPECT_EQ(line_at(40), "epoch  1/10  ETA 16:39  loss 2.0000");
  EXPECT_EQ(line_at(30), "epoch  1/10  loss 2.0000");
  EXPECT_EQ(line_at(20), "epoch  1/10");
  EXPECT_EQ(line_at(11), "");
}

TEST_F(ProgressTest, StepsThatAreSkippedAreCountedWhileTheyHappen) {
  show(ProgressStyle::live).start("a", {2, 100});
  step(1, 1);
  EXPECT_EQ(written().find("skipped"), std::string::npos);
  step(1, -std::numeric_limits<double>::quiet_NaN(), 0, 1, false, true);
  EXPECT_NE(written().find("loss 1.0000  skipped 1/2"), std::string::npos);
}

TEST_F(ProgressTest, NumbersThatAreNotFiniteAreNanWithoutASign) {
  auto& progress = show(ProgressStyle::live);
  progress.start("a", {2, 100});
  auto event = epoch(1);
  event.test_loss = -std::numeric_limits<double>::quiet_NaN();
  event.train_loss = -std::numeric_limits<double>::infinity();
  progress.epoch(event, {100, 100, 0, 0, 0});
  step(1, -std::numeric_limits<double>::quiet_NaN(), 0, 1, false, true);
  const auto text = written();
  EXPECT_NE(text.find("  loss nan  train nan  "), std::string::npos) << text;
  EXPECT_NE(text.find("  skipped 100/100\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("-nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
}

TEST_F(ProgressTest, AnEpochSaysWhatItsProbesCouldNotTell) {
  auto& progress = show(ProgressStyle::plain);
  progress.start("a", {2, 100});
  progress.epoch(epoch(1), {100, 0, 90, 12, 3});
  EXPECT_NE(written().find("  2:31  bad probes 3  ρ is noise 12/90\n"), std::string::npos);
}

TEST_F(ProgressTest, WarningsAreShownToThoseWhoWantNoProgressToo) {
  show(ProgressStyle::quiet).warn("training\033 diverged");
  EXPECT_EQ(written(), "training? diverged\n");
  show(ProgressStyle::live).start("a", {2, 100});
  step(1);
  written();
  progress_->warn("b");
  EXPECT_EQ(written(), clear_line + "b\n");
}

TEST_F(ProgressTest, PermanentLinesReplaceTheLiveOne) {
  auto& progress = show(ProgressStyle::live);
  progress.start("a", {2, 100});
  step(1);
  EXPECT_EQ(written(),
            "a: 2 epochs of 100 steps\n" + clear_line +
                "epoch 1/2 ░░░░░░░░░░░░  1.00 step/s  ETA 3:19  loss 2.0000  ρ 0.500  brake 0.250\r");
  progress.epoch(epoch(1), {});
  const auto text = written();
  EXPECT_EQ(text.rfind(clear_line + "epoch 1/2  test 16.91 %", 0), 0U) << text;
  EXPECT_EQ(text.back(), '\n');
}

TEST_F(ProgressTest, LeavesAnEmptyLineBehindWhenItGoesAway) {
  show(ProgressStyle::live).start("a", {2, 100});
  step(1);
  written();
  progress_.reset();
  EXPECT_EQ(written(), clear_line);
}

TEST_F(ProgressTest, ShowsMeansOverTheLastFiftySteps) {
  show(ProgressStyle::live).start("a", {2, 100});
  for (int i = 0; i < 50; ++i) step(1, 100, 0.1, 0.9);
  for (int i = 0; i < 25; ++i) step(1, 1, 0.2, 0.2);
  for (int i = 0; i < 25; ++i) step(1, 2, 0.4, 0.4);
  const auto text = written();
  EXPECT_EQ(text.substr(text.rfind("  loss")), "  loss 1.5000  ρ 0.300  brake 0.300\r");
}

TEST_F(ProgressTest, SkippedStepsDoNotSpoilTheMean) {
  show(ProgressStyle::live).start("a", {2, 100});
  step(1, 1);
  step(1, std::numeric_limits<double>::quiet_NaN());
  const auto text = written();
  EXPECT_NE(text.rfind("loss 1.0000"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST_F(ProgressTest, LeavesOutRhoAndBrakeWhereThereIsNone) {
  auto& progress = show(ProgressStyle::live);
  progress.start("a", {2, 100});
  step(1, 2, 0, 1, false);
  auto event = epoch(1);
  event.mean_lgi = 0;
  event.mean_brake = 1;
  progress.epoch(event, {});
  const auto text = written();
  EXPECT_EQ(text.find("ρ"), std::string::npos) << text;
  EXPECT_EQ(text.find("brake"), std::string::npos) << text;
  step(1, 2, 0, 0.42, false);  // a control brakes without probing
  EXPECT_NE(written().find("brake 0.710"), std::string::npos);
}

TEST_F(ProgressTest, TimeLeftCountsEvaluationsStillToCome) {
  auto& progress = show(ProgressStyle::live);
  progress.start("a", {2, 100});
  for (int i = 0; i < 100; ++i) step(0.1);
  progress.epoch(epoch(1), {});  // its evaluation took 7 s
  written();
  step(0.1);
  EXPECT_NE(written().find("ETA 17 s"), std::string::npos);  // 99 steps of 0.1 s and one evaluation
}

TEST_F(ProgressTest, TimeLeftCountsEvaluationsBeforeTheFirst) {
  auto& progress = show(ProgressStyle::live);
  progress.start("a", {.epochs = 2, .steps_per_epoch = 100, .steps_per_evaluation = 50});
  for (int i = 0; i < 20; ++i) step(0.1);
  const auto text = written();
  // 180 steps of 0.1 s, and two evaluations guessed at 5 s each.
  EXPECT_NE(text.rfind("ETA 28 s"), std::string::npos) << text;
}

TEST_F(ProgressTest, AnEvaluationSaysSoAndHowLongItTakes) {
  auto& progress = show(ProgressStyle::live);
  progress.start("a", {.epochs = 2, .steps_per_epoch = 100, .steps_per_evaluation = 50});
  for (int i = 0; i < 100; ++i) step(0.1);
  written();
  progress.evaluating(0, 8);
  EXPECT_NE(written().find("epoch 1/2 ████████████  evaluating 0 %  ETA 20 s"), std::string::npos);
  now_ += 10;
  progress.evaluating(2, 8);
  // A quarter in 10 s: 30 s more, 40 s for the second one, and 10 s of steps.
  const auto text = written();
  EXPECT_NE(text.find("evaluating 25 %  ETA 1:20"), std::string::npos) << text;
  progress.epoch(epoch(1), {});
  step(0.1);
  EXPECT_EQ(written().find("evaluating"), std::string::npos);

  auto& plain = show(ProgressStyle::plain);
  plain.start("a", {2, 100});
  written();
  plain.evaluating(0, 8);
  EXPECT_EQ(written(), "");
  now_ += 31;
  plain.evaluating(4, 8);
  EXPECT_NE(written().find("evaluating 50 %"), std::string::npos);
}

TEST_F(ProgressTest, EpochLinesFitEightyColumnsAndSixtyByShowingLess) {
  const auto line_at = [&](std::size_t columns, const StepCounts& counts) {
    columns_ = columns;
    auto& progress = show(ProgressStyle::plain);
    progress.start("a", {100, 100});
    written();
    auto event = epoch(100);
    event.test_accuracy = 1;
    event.train_seconds = 36000;
    progress.epoch(event, counts);
    auto text = written();
    text.pop_back();
    EXPECT_LE(base::display_width(text), columns) << text;
    return text;
  };
  EXPECT_EQ(line_at(80, {}),
            "epoch 100/100  test 100.00 %  loss 2.2500  train 2.5000  brake 0.390  10:00:00");
  EXPECT_EQ(line_at(60, {}), "epoch 100/100  test 100.00 %  loss 2.2500  10:00:00");
  EXPECT_NE(line_at(60, {100, 7, 90, 12, 0}).find("skipped 7/100"), std::string::npos)
      << "what went wrong is not what is left out";
}

TEST_F(ProgressTest, ColourIsLaidAroundWordsAndTakesNoRoom) {
  const auto line = [&](bool colour) {
    progress_ = std::make_unique<Progress>(out_, ProgressOptions{.style = ProgressStyle::plain,
                                                                 .clock = [this] { return now_; },
                                                                 .columns = [] { return 80; },
                                                                 .colour = colour});
    progress_->start("a", {10, 100});
    written();
    progress_->epoch(epoch(1), {});
    return written();
  };
  auto coloured = line(true);
  EXPECT_NE(coloured.find("\033[1mtest 16.91 %\033[0m"), std::string::npos) << coloured;
  for (const std::string code : {"\033[1m", "\033[0m"})
    for (auto at = coloured.find(code); at != std::string::npos; at = coloured.find(code))
      coloured.erase(at, code.size());
  EXPECT_EQ(coloured, line(false));
}

TEST_F(ProgressTest, AResumedRunIsAsFastAsItsNewSteps) {
  show(ProgressStyle::live).start("a", {2, 100, 100});
  steps_ = 100;
  train_seconds_ = 1000;  // another machine took that long
  step(0.5);
  step(0.5);
  const auto text = written();
  EXPECT_NE(text.find("2.00 step/s"), std::string::npos) << text;
}

using Stream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// The far end of a terminal that nobody sits at, and the end programs write to.
struct FakeTerminal {
  Stream keyboard{nullptr, std::fclose};  // null, as the screen, where there are no terminals
  Stream screen{nullptr, std::fclose};

  FakeTerminal() {
    const int number = posix_openpt(O_RDWR | O_NOCTTY);
    if (number < 0) return;
    keyboard.reset(fdopen(number, "r+"));
    if (grantpt(number) != 0 || unlockpt(number) != 0) return;
    screen.reset(std::fopen(ptsname(number), "w"));
  }
};

TEST(ProgressStyleTest, IsLiveOnATerminalUnlessItIsDumb) {
  const FakeTerminal terminal;
  if (!terminal.screen) GTEST_SKIP() << "this machine makes no terminals";
  const char* term = std::getenv("TERM");
  const std::optional<std::string> before = term ? std::optional<std::string>(term) : std::nullopt;
  setenv("TERM", "xterm", 1);
  EXPECT_EQ(progress_style(terminal.screen.get()), ProgressStyle::live);
  setenv("TERM", "dumb", 1);
  EXPECT_EQ(progress_style(terminal.screen.get()), ProgressStyle::plain);
  unsetenv("TERM");
  EXPECT_EQ(progress_style(terminal.screen.get()), ProgressStyle::plain);
  if (before) setenv("TERM", before->c_str(), 1);
}

TEST(ProgressStyleTest, ColourIsForTerminalsWhoseUserWantsIt) {
  const FakeTerminal terminal;
  if (!terminal.screen) GTEST_SKIP() << "this machine makes no terminals";
  const char* term = std::getenv("TERM");
  const std::optional<std::string> before = term ? std::optional<std::string>(term) : std::nullopt;
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_TRUE(base::has_colour(terminal.screen.get()));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(base::has_colour(terminal.screen.get()));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(base::has_colour(terminal.screen.get()));
  unsetenv("NO_COLOR");
  const Stream file(std::tmpfile(), std::fclose);
  EXPECT_FALSE(base::has_colour(file.get()));
  if (before) setenv("TERM", before->c_str(), 1);
}

TEST(ProgressStyleTest, AsksTheTerminalForItsWidth) {
  const FakeTerminal terminal;
  if (!terminal.screen) GTEST_SKIP() << "this machine makes no terminals";
  winsize size{};
  size.ws_col = 132;
  ASSERT_EQ(ioctl(fileno(terminal.screen.get()), TIOCSWINSZ, &size), 0);
  EXPECT_EQ(base::terminal_columns(terminal.screen.get()), 132U);
}

TEST(ProgressStyleTest, IsPlainWhereNobodyLooks) {
  const Stream file(std::tmpfile(), std::fclose);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(progress_style(file.get()), ProgressStyle::plain);
  EXPECT_EQ(base::terminal_columns(file.get()), 80U);
}

}  // namespace
}  // namespace sadam::train
