// Starts this test program again and again: one process loads libtorch, which takes half a second, does
// nothing else, and forks for every start. So each starts as if it had been executed.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace sadam::testing {

/// For main(), before anything else. In the process that starts others it comes back in each of these, which
/// then goes on as a program that was started with this test alone and these variables.
inline void start_others_if_asked() {
  const char* const number = std::getenv("SADAM_TEST_STARTER");
  if (number == nullptr) return;
  const int socket = std::atoi(number);
  ::unsetenv("SADAM_TEST_STARTER");
  std::vector<char> wish(1 << 16);
  for (ssize_t size = 0; (size = ::recv(socket, wish.data(), wish.size(), 0)) > 0;) {
    const pid_t between = ::fork();
    if (between == 0) {
      const pid_t started = ::fork();
      if (started == 0) {
        ::close(socket);
        std::vector<std::string> words;  // the test, and NAME, value, NAME, value …
        for (const char* word = wish.data(); word < wish.data() + size; word += words.back().size() + 1)
          words.emplace_back(word);
        ::testing::GTEST_FLAG(filter) = words.front();
        for (std::size_t i = 1; i + 1 < words.size(); i += 2)
          ::setenv(words[i].c_str(), words[i + 1].c_str(), 1);
        return;
      }
      ::send(socket, &started, sizeof started, 0);
      ::_exit(0);
    }
    // Its parent is over: now it is a child of whoever asked for it.
    ::waitpid(between, nullptr, 0);
    ::send(socket, "", 1, 0);
  }
  ::_exit(0);
}

/// The process that starts others, for as long as this program runs.
class Starter {
 public:
  static Starter& instance() {
    static Starter starter;
    return starter;
  }
  ~Starter() {
    ::close(socket_);
    ::waitpid(process_, nullptr, 0);
  }
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

  /// A child of this process with the test under way alone, and with these variables: NAME, value, NAME,
  /// value …
  pid_t start(const std::vector<std::string>& variables) {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string wish = std::string(test->test_suite_name()) + "." + test->name() + '\0';
    for (const auto& word : variables) wish += word + '\0';
    pid_t started = 0;
    char is_mine = 0;
    if (::send(socket_, wish.data(), wish.size(), MSG_NOSIGNAL) < 0 ||
        ::recv(socket_, &started, sizeof started, 0) != sizeof started ||
        ::recv(socket_, &is_mine, 1, 0) != 1)
      throw std::runtime_error("the process that starts others is gone");
    return started;
  }

 private:
  Starter() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error("there are no sockets");
    std::fflush(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::setenv("SADAM_TEST_STARTER", std::to_string(::dup(ends[1])).c_str(), 1);
      ::setenv("OMP_NUM_THREADS", "1", 1);
      ::execl("/proc/self/exe", "starter", "--gtest_brief=1", nullptr);
      ::_exit(98);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }

  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace sadam::testing
