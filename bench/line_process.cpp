#include "line_process.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace sadam::bench {
namespace {

bool tunes(std::string_view variable) {
  // oneDNN's can also make it print lines of its own.
  constexpr std::array<std::string_view, 10> prefixes = {
      "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "DNNL_", "ONEDNN_", "MALLOC_", "GLIBC_TUNABLES"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return variable.substr(0, prefix.size()) == prefix; });
}

std::vector<char*> untuned_environment() {
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!tunes(*variable)) kept.push_back(*variable);
  kept.push_back(nullptr);
  return kept;
}

[[noreturn]] void fail(int code, const std::string& what) {
  throw std::system_error(code, std::generic_category(), what);
}

}  // namespace

LineProcess::LineProcess(const std::vector<std::string>& command) {
  // One socket is its input and its output: unlike a pipe it can be written without the risk of a signal.
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail(errno, "no socket for a child");
  socket_ = ends[0];
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  auto environment = untuned_environment();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int code = posix_spawnp(&id_, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (code != 0) id_ = -1;  // it cannot be run: ask() will find that it has ended
}

LineProcess::~LineProcess() {
  close(socket_);  // the end of its input
  if (id_ < 0) return;
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
}

void LineProcess::tell(const std::string& line) {
  const std::string text = line + "\n";
  // If it has ended, so has the answer.
  static_cast<void>(send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
}

std::optional<std::string> LineProcess::answer() {
  for (;;) {
    const auto end = received_.find('\n');
    if (end != std::string::npos) {
      auto answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      return answer;
    }
    std::array<char, 256> buffer{};
    const auto count = recv(socket_, buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace sadam::bench
