// A program that answers lines with lines, run beside this one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace sadam::bench {

/// Starts the program and ends it with the object. It works only while it owes an answer.
class LineProcess {
 public:
  /// `command` is the program, looked for in PATH, and its arguments. Its environment is this one's without
  /// whatever tunes threads or allocation (OMP_NUM_THREADS, MALLOC_ARENA_MAX, ...).
  explicit LineProcess(const std::vector<std::string>& command);
  ~LineProcess();
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  /// Sends a line and waits for the answer, without its end of line. Nothing if the program has ended.
  std::optional<std::string> ask(const std::string& line) {
    tell(line);
    return answer();
  }
  /// The two halves, for programs that work together.
  void tell(const std::string& line);
  std::optional<std::string> answer();

 private:
  pid_t id_ = -1;
  int socket_ = -1;
  std::string received_;
};

}  // namespace sadam::bench
