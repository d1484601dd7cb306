// The program `sadam`, and threads that wait without holding a core.
//
// GNU's OpenMP lets a thread that waits for work spin for a millisecond. Beside other work on the same cores
// a training step, which is hundreds of short parallel loops, then takes many times as long: with two busy
// loops beside it a run of two threads took 20 to 34 s, and 4.5 s with this shorter spin; alone it is about 5
// % slower. OpenMP reads its settings before `main`, so the program starts once more with the setting in
// place. It does so before libtorch has set itself up, which takes most of the time of a start. Nothing is
// done for subcommands that do not compute, if the user has set OMP_WAIT_POLICY or GOMP_SPINCOUNT, or where a
// program cannot start itself again.
#include "cli/command.h"

#ifdef __GLIBC__

#include <unistd.h>

#include <array>
#include <climits>
#include <cstring>
#include <string_view>

namespace {

bool computes(std::string_view subcommand) {
  return subcommand == "train" || subcommand == "eval" || subcommand == "reproduce";
}

bool is_set(std::string_view variable, std::string_view name) {
  return variable.starts_with(name) && variable.substr(name.size()).starts_with('=');
}

// Not even the C library is set up here: no environment, no allocation, no exception.
void use_polite_threads(int count, char** arguments, char** environment) {
  if (count < 2 || !computes(arguments[1])) return;
  constexpr std::size_t kMostVariables = 4096;
  static std::array<char*, kMostVariables + 2> variables;
  static char setting[] = "GOMP_SPINCOUNT=5000";
  std::size_t used = 0;
  for (char** variable = environment; *variable != nullptr; ++variable) {
    if (is_set(*variable, "OMP_WAIT_POLICY") || is_set(*variable, "GOMP_SPINCOUNT")) return;
    if (used == kMostVariables) return;
    variables[used++] = *variable;
  }
  variables[used] = setting;
  // By its path, since `ps` and `killall` know a program by the last part of what was executed.
  static std::array<char, PATH_MAX> path;
  constexpr const char* kLink = "/proc/self/exe";
  const auto length = readlink(kLink, path.data(), path.size() - 1);
  if (length > 0 && access(path.data(), X_OK) == 0) execve(path.data(), arguments, variables.data());
  execve(kLink, arguments, variables.data());  // the file may have been replaced; comes back if it failed
}

using Early = void (*)(int, char**, char**);
[[gnu::section(".preinit_array"), gnu::used]] const Early start_anew = use_polite_threads;

}  // namespace

#endif

int main(int argc, char** argv) { return sadam::cli::run(argc, argv); }
