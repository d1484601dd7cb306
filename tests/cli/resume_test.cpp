#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

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
  const auto fields = small_run();
  arguments.insert(arguments.end(), fields.begin(), fields.end());
  return arguments;
}

Arguments resume(const std::filesystem::path& run) { return {"train", "--resume", run.string(), "--quiet"}; }

std::string weights_of(const std::filesystem::path& run) {
  const auto file = run / "weights.safetensors";
  const auto ended = run_program({"export", run.string(), file.string()});
  EXPECT_EQ(ended.status, 0) << ended.err;
  return bytes_of(file);
}

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    const auto ended = run_program(begin(folder_.path(), "whole"));
    ASSERT_EQ(ended.status, 0) << ended.err;
  }
  // Ends a run with a signal, several times, each time at another moment; then lets it go to its end.
  void expect_as_whole(int signal) {
    std::mt19937 random(std::random_device{}());
    const auto run = folder_.path() / "ended";
    const auto start_or_resume = [&] {
      // A process that is hit before it has its folder leaves nothing to go on with.
      return std::filesystem::exists(run / "run.toml") ? resume(run) : begin(folder_.path(), "ended");
    };
    for (int i = 0; i < 5; ++i) {
      const std::chrono::milliseconds after(100 + static_cast<int>(random() % 900));
      const auto ended = run_and_signal(start_or_resume(), after, signal);
      EXPECT_NE(ended.status, 1) << ended.err;
    }
    const auto ended = run_program(start_or_resume());
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(events_in(run), events_in(folder_.path() / "whole"));
    EXPECT_EQ(weights_of(run), weights_of(folder_.path() / "whole"));
  }

  TemporaryFolder folder_;
};

TEST_F(Resume, ARunKilledAtRandomMomentsEndsAsOneThatWasNot) { expect_as_whole(SIGKILL); }

TEST_F(Resume, ARunStoppedWithCtrlCEndsAsOneThatWasNot) { expect_as_whole(SIGINT); }

}  // namespace
}  // namespace sadam::cli
