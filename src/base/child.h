// This program, started again as a child of itself.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

namespace sadam::base {

/// The words that this program was called with; none where the system does not say.
std::vector<std::string> own_command_line();

struct Pipe {
  Descriptor read;
  Descriptor write;
};
Pipe make_pipe();

/// What comes out of a pipe, line by line.
class Lines {
 public:
  Lines() = default;
  explicit Lines(Descriptor pipe) : pipe_(std::move(pipe)) {}

  int number() const { return pipe_.number(); }
  bool is_open() const { return pipe_.number() >= 0; }

  /// What is there now, or, if nothing is, what comes next; closes the pipe at its end.
  std::vector<std::string> take();

 private:
  Descriptor pipe_;
  std::string rest_;
};

struct ChildOptions {
  const Descriptor& out;  ///< its standard output
  const Descriptor& err;
  /// "NAME=value": beside what this process has, or instead of it. "NAME": without it.
  std::vector<std::string> environment = {};
  int signal_when_orphaned;  ///< where the system can do that
  /// Ctrl-C in a terminal does not reach it.
  bool in_own_group = false;
  std::vector<int> ignored = {};  ///< signals
};

/// A process of this program; it ends with this, at the latest.
class Child {
 public:
  /// `words`: its command line, from the name of the program on.
  Child(std::vector<std::string> words, const ChildOptions& options);
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool is_waited_for() const { return process_ == 0; }
  void signal(int number) const;
  /// As waitpid() has it.
  int wait();
  /// The same if it has ended.
  std::optional<int> status();
  /// SIGTERM, and waits.
  void end();

 private:
  pid_t process_ = 0;
  int status_ = 0;
};

/// "was ended by signal 9 (Killed)", "ended with status 1".
std::string how_it_ended(int status);

}  // namespace sadam::base
