// Runs the program in a process of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace sadam::cli {

struct Ended {
  int status = 0;  ///< exit status; −signal if a signal ended it
  std::string out;
  std::string err;
};

using Arguments = std::vector<std::string>;

/// Runs it to its end.
Ended run_program(const Arguments& arguments);

/// Sends it a signal after a while, if it is still there then.
Ended run_and_signal(const Arguments& arguments, std::chrono::milliseconds after, int signal);

/// Starts it and lets it go on; `wait` for it.
class Background {
 public:
  explicit Background(const Arguments& arguments);
  Ended wait();
  void signal(int number) const;
  bool has_ended() const;  ///< `wait` will not wait
  /// What Linux says of it: its "comm", "environ" and so on.
  std::string in_proc(const std::string& file) const;

 private:
  int process_;
  std::filesystem::path out_;
  std::filesystem::path err_;
};

/// A small run that takes a second or two: `--set` arguments.
Arguments small_run();

/// A table of such runs, S-Adam and AdamW, for `reproduce`.
std::string small_table();

}  // namespace sadam::cli
