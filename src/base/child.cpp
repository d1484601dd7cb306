#include "base/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

namespace sadam::base {
namespace {

// By its own path: `ps` knows a program by the last part of what was executed.
std::string path_of_program() {
  constexpr const char* kLink = "/proc/self/exe";
  std::array<char, PATH_MAX> path{};
  const auto length = ::readlink(kLink, path.data(), path.size() - 1);
  return length > 0 && ::access(path.data(), X_OK) == 0 ? path.data() : kLink;
}

// As exec takes them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  const auto name_of = [](std::string_view text) { return text.substr(0, text.find('=')); };
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each)
    if (std::none_of(changes.begin(), changes.end(),
                     [&](const std::string& change) { return name_of(change) == name_of(*each); }))
      all.emplace_back(*each);
  for (const auto& change : changes)
    if (change.find('=') != std::string::npos) all.push_back(change);
  return all;
}

}  // namespace

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw failure("make", "a pipe", errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<std::string> Lines::take() {
  std::array<char, 4096> buffer{};
  const auto count = ::read(pipe_.number(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (count > 0) rest_.append(buffer.data(), static_cast<std::size_t>(count));
  std::vector<std::string> lines;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
    lines.push_back(rest_.substr(0, end));
    rest_.erase(0, end + 1);
  }
  if (count > 0) return lines;
  pipe_ = Descriptor();
  if (!rest_.empty()) lines.push_back(std::exchange(rest_, {}));
  return lines;
}

Child::Child(std::vector<std::string> words, const ChildOptions& options) {
  // Between fork and exec nothing may be allocated.
  const auto program = path_of_program();
  auto variables = environment_with(options.environment);
  const auto arguments = pointers_to(words);
  const auto environment = pointers_to(variables);
  const auto nothing = open_descriptor("/dev/null", O_RDONLY | O_CLOEXEC);
  const auto parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw failure("start", program, errno);
  if (process_ > 0) return;
  if (options.in_own_group) ::setpgid(0, 0);
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, options.signal_when_orphaned);
#endif
  for (const int number : options.ignored) ::signal(number, SIG_IGN);
  if (::getppid() != parent) ::_exit(0);
  ::dup2(nothing.number(), STDIN_FILENO);
  ::dup2(options.out.number(), STDOUT_FILENO);
  ::dup2(options.err.number(), STDERR_FILENO);
  ::execve(program.c_str(), arguments.data(), environment.data());
  ::_exit(127);
}

void Child::signal(int number) const {
  if (process_ > 0) ::kill(process_, number);
}

int Child::wait() {
  while (process_ > 0 && ::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  return status_;
}

std::optional<int> Child::status() {
  if (process_ > 0 && ::waitpid(process_, &status_, WNOHANG) != process_) return std::nullopt;
  process_ = 0;
  return status_;
}

void Child::end() {
  signal(SIGTERM);
  wait();
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace sadam::base
