// What a user starts: answers --help and --version at once, and hands everything else to the engine, the
// program that is linked with libtorch and takes half a second to load.
//
// It also sets how threads wait. GNU's OpenMP lets a thread that waits for work spin for a millisecond.
// Beside other work on the same cores a training step, which is hundreds of short parallel loops, then takes
// many times as long: with two busy loops beside it a run of two threads took 20 to 34 s, and 4.5 s with this
// shorter spin; alone it is about 5 % slower. OpenMP reads its settings before `main`, so they are set here,
// unless the user has set OMP_WAIT_POLICY or GOMP_SPINCOUNT. The same goes for what torch's groups log about
// an error: it would stand before the program's own sentence.
#include <sadam/version.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "base/terminal.h"

namespace {

struct HelpText {
  std::string_view command;  // "", "train", "data fetch"
  std::size_t width;
  std::string_view text;
};

// Written by the engine when it was built: see cli/program.cpp.
constexpr HelpText kHelpTexts[] = {
#include "help_texts.inc"
};

bool is_help(std::string_view word) { return word == "--help" || word == "-h"; }

/// The help that the words ask for and nothing else; null where they are the engine's to understand.
const HelpText* help_for(int count, char** words) {
  if (count < 2) return nullptr;
  const bool before = std::string_view(words[1]) == "help";
  if (!before && !is_help(words[count - 1])) return nullptr;
  std::string command;
  for (int i = before ? 2 : 1; i < (before ? count : count - 1); ++i) {
    if (!command.empty()) command += ' ';
    command += words[i];
  }
  const auto width = sadam::base::help_width(stdout);
  for (const auto& help : kHelpTexts)
    if (help.command == command && help.width == width) return &help;
  return nullptr;
}

int answer(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fputs("sadam: cannot write to standard output: is the disk full?\n", stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") return answer(SADAM_VERSION "\n");
  if (const auto* const help = help_for(argc, argv)) return answer(help->text);
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "5000", 0);
  setenv("GLOG_minloglevel", "3", 0);
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  // Its file has the same name, since `ps` and `killall` know a program by the last part of its path.
  std::error_code unknown;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const auto engine = (self.parent_path() / SADAM_ENGINE).lexically_normal();
  if (!unknown) execv(engine.c_str(), argv);
  std::fprintf(stderr, "sadam: cannot start %s (%s): install sadam again.\n", engine.c_str(),
               std::strerror(errno));
  return 1;
}
