// Runs the program in a process of its own: a fork of this one, which has libtorch loaded, where there is
// SADAM_CLI_BY_FORK (a start takes half a second); else the file that SADAM_PROGRAM names.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace sadam::cli {

struct Ended {
  int status = 0;  ///< exit status; −signal if a signal ended it
  std::string out;
  std::string err;
};

inline ::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "it says: " << text;
}

using Arguments = std::vector<std::string>;

/// Runs it to its end.
Ended run_program(const Arguments& arguments);

/// That it ended with this status, and said one sentence, with these parts, and nothing else.
void expect_refused(const Ended& ended, int status, const std::vector<std::string>& parts);

/// The same, by executing the file that SADAM_PROGRAM names.
Ended execute_program(const Arguments& arguments);

/// Sends it a signal after a while, if it is still there then.
Ended run_and_signal(const Arguments& arguments, std::chrono::milliseconds after, int signal);

/// Starts it and lets it go on; `wait` for it.
class Background {
 public:
  enum class Start { by_fork, by_exec };
#ifdef SADAM_CLI_BY_FORK
  static constexpr Start kUsual = Start::by_fork;
#else
  static constexpr Start kUsual = Start::by_exec;
#endif
  /// Where and with what it is executed, beside what this process has: "NAME=value".
  struct Surroundings {
    std::vector<std::string> environment;
    std::filesystem::path folder;
  };
  explicit Background(const Arguments& arguments, Start start = kUsual) : Background(arguments, {}, start) {}
  Background(const Arguments& arguments, const Surroundings& surroundings, Start start = Start::by_exec);
  Ended wait();
  void signal(int number) const;
  bool has_ended() const;  ///< `wait` will not wait
  int process() const { return process_; }
  /// What it has printed so far.
  std::string said() const;
  /// What Linux says of it: its "comm", "environ" and so on.
  std::string in_proc(const std::string& file) const;

 private:
  int process_;
  std::filesystem::path out_;
  std::filesystem::path err_;
};

/// Makes a run one that cannot go on.
void damage_checkpoints(const std::filesystem::path& run);

/// The processes that another one has started.
std::vector<int> children_of(int process);

/// Whether it comes to that within so many seconds.
template <class Question>
bool comes_true(const Question& question, int seconds = 20) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!question()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Two epochs of 16 images a step, quiet: `--set` arguments. 320 images take a second or two.
Arguments small_run(int images = 96);

/// A table of such runs, S-Adam and AdamW, for `reproduce`.
std::string small_table();

}  // namespace sadam::cli
