#include "cli/polite_threads.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sadam::cli {
namespace {

bool computes(std::string_view subcommand) {
  return subcommand == "train" || subcommand == "eval" || subcommand == "reproduce";
}

// By its path, since `ps` and `killall` know a program by the last part of what was executed.
std::string own_path() {
  constexpr const char* link = "/proc/self/exe";
  std::string path(PATH_MAX, '\0');
  const auto length = readlink(link, path.data(), path.size());
  if (length <= 0) return link;
  path.resize(static_cast<std::size_t>(length));
  return access(path.c_str(), X_OK) == 0 ? path : link;  // it may have been replaced by a newer one
}

}  // namespace

void use_polite_threads(char** arguments) {
  if (arguments[0] == nullptr || arguments[1] == nullptr || !computes(arguments[1])) return;
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (setenv("GOMP_SPINCOUNT", "5000", 0) != 0) return;
  execv(own_path().c_str(), arguments);  // comes back only if it failed
}

}  // namespace sadam::cli
