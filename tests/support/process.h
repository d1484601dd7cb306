// A process of a test's own, which may be killed or kept from doing things.
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

/// A while to wait before something is killed: another one each time, and the same ones in every run of the
/// tests.
inline std::chrono::microseconds random_moment() {
  static std::mt19937 generator(1);
  return std::chrono::microseconds(500 + generator() % 19500);
}

}  // namespace sadam::testing
