// For tests of files: a folder that goes away, the sentence of a refusal, a process that may be killed.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <random>
#include <utility>

#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace sadam::testing {

using sadam::TemporaryFolder;
using sadam::text_of_file;
using sadam::write_text;

/// Another process that runs `work` and ends with the status it returns (99 for an exception).
class Child {
 public:
  template <class Work>
  explicit Child(const Work& work) : process_(::fork()) {
    if (process_ != 0) return;
    int status = 99;
    try {
      status = work();
    } catch (const std::exception&) {
    }
    ::_exit(status);  // without the parent's destructors and test reports
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    status();
  }

  /// Waits for its end; −signal if one ended it.
  int status() {
    int state = 0;
    ::waitpid(std::exchange(process_, -1), &state, 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
  }

 private:
  pid_t process_;
};

/// From here on this process cannot make a file longer than this: the disk is full, so to say.
inline void limit_file_size(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

/// From here on this process is nobody, if it was root, whom no permission stops.
inline bool give_up_root() { return ::geteuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0); }

/// When to kill a child: half a millisecond to 20 ms from now, another moment for each round, the same ones
/// on every run of the tests.
inline std::chrono::microseconds moment(int round) {
  std::minstd_rand random(static_cast<unsigned>(round) + 1);
  random.discard(10);  // the first numbers of neighbouring seeds are alike
  return std::chrono::microseconds(500 + random() % 19500);
}

}  // namespace sadam::testing
