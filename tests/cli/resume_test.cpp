#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

// The events, without what differs between two runs of one recipe: times and memory.
std::vector<nlohmann::json> events_in(const std::filesystem::path& run) {
  std::vector<nlohmann::json> events;
  std::ifstream file(run / "events.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto event = nlohmann::json::parse(line);
    for (auto field = event.begin(); field != event.end();) {
      const auto& name = field.key();
      const bool varies = name.ends_with("_seconds") || name == "peak_memory";
      field = varies ? event.erase(field) : std::next(field);
    }
    events.push_back(event);
  }
  return events;
}

Arguments begin(const std::filesystem::path& root, const std::string& name) {
  Arguments arguments = {"train", "--root", root.string(), "--name", name};
  const auto fields = small_run(320);
  arguments.insert(arguments.end(), fields.begin(), fields.end());
  return arguments;
}

Arguments resume(const std::filesystem::path& run) { return {"train", "--resume", run.string(), "--quiet"}; }

// Of the last epoch, and of the best.
std::string weights_of(const std::filesystem::path& run, bool best = false) {
  const auto file = run / (best ? "best.safetensors" : "weights.safetensors");
  Arguments arguments = {"export", run.string(), file.string(), "--force"};
  if (best) arguments.emplace_back("--best");
  const auto ended = run_program(arguments);
  EXPECT_EQ(ended.status, 0) << ended.err;
  return text_of_file(file);
}

class Resume : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = std::make_unique<TemporaryFolder>(); }
  static void TearDownTestSuite() { shared_.reset(); }

  // A run that nothing happened to.
  static std::filesystem::path whole() {
    if (const auto run = shared_->path() / "whole"; std::filesystem::exists(run)) return run;
    const auto ended = run_program(begin(shared_->path(), "whole"));
    EXPECT_EQ(ended.status, 0) << ended.err;
    return shared_->path() / "whole";
  }
  // Ends a run with a signal, several times, each time at another moment after it has begun to write events;
  // then lets it go to its end.
  void expect_as_whole(int signal) {
    std::mt19937 random(static_cast<unsigned>(signal));  // the same moments every time
    const auto run = folder_.path() / "ended";
    const auto events = run / "events.jsonl";
    int in_the_middle = 0;
    for (int i = 0; i < 5; ++i) {
      std::error_code not_there;
      const auto before = std::filesystem::last_write_time(events, not_there);
      Background program(std::filesystem::exists(run / "run.toml") ? resume(run)
                                                                   : begin(folder_.path(), "ended"));
      for (int waited = 0; waited < 600 && !program.has_ended(); ++waited) {
        std::error_code none;
        if (const auto now = std::filesystem::last_write_time(events, none); !none && now != before) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
      program.signal(signal);
      const auto ended = program.wait();
      EXPECT_NE(ended.status, 1) << ended.err;
      if (ended.status == 0) break;  // it was faster
      ++in_the_middle;
    }
    EXPECT_GE(in_the_middle, 1) << "the run was over before it could be ended";
    const auto ended = run_program(resume(run));
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(events_in(run), events_in(whole()));
    EXPECT_EQ(weights_of(run), weights_of(whole()));
    EXPECT_EQ(weights_of(run, true), weights_of(whole(), true));
  }

  static inline std::unique_ptr<TemporaryFolder> shared_;
  TemporaryFolder folder_;
};

TEST_F(Resume, ARunKilledAtRandomMomentsEndsAsOneThatWasNot) { expect_as_whole(SIGKILL); }

TEST_F(Resume, ARunStoppedWithCtrlCEndsAsOneThatWasNot) { expect_as_whole(SIGINT); }

// A terminal that closes may say so twice, once through the kernel and once through the shell.
TEST_F(Resume, HangingUpSavesTheRunHoweverOftenItIsSaid) {
  auto arguments = begin(folder_.path(), "closed");
  arguments.insert(arguments.end(),
                   {"--set", "train.epochs=1000", "--set", "train.checkpoint_every=1000000"});
  Background program(arguments);
  const auto run = folder_.path() / "closed";
  while (!program.has_ended() && (!std::filesystem::exists(run / "events.jsonl") ||
                                  std::filesystem::file_size(run / "events.jsonl") == 0))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  while (!std::filesystem::exists(run / "checkpoint.pt") && !program.has_ended()) {
    program.signal(SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto ended = program.wait();
  EXPECT_EQ(ended.status, 130);
  EXPECT_NE(ended.err.find("Stopped and saved"), std::string::npos) << ended.err;
  EXPECT_TRUE(std::filesystem::exists(run / "checkpoint.pt"));
}

// As nohup starts it.
TEST_F(Resume, WhereHangingUpIsIgnoredTheRunGoesOn) {
  ::signal(SIGHUP, SIG_IGN);
  Background program(begin(folder_.path(), "nohup"));
  ::signal(SIGHUP, SIG_DFL);
  const auto run = folder_.path() / "nohup";
  while (!std::filesystem::exists(run / "events.jsonl") && !program.has_ended()) {
    program.signal(SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  program.signal(SIGHUP);
  EXPECT_EQ(program.wait().status, 0);
}

}  // namespace
}  // namespace sadam::cli
