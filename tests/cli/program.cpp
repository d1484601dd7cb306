#include "cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>  // mkstemp
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#ifdef SADAM_CLI_BY_FORK
#include "cli/command.h"
#endif

namespace sadam::cli {
namespace {

std::filesystem::path temporary_file() {
  auto name = (std::filesystem::temp_directory_path() / "sadam_output_XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) throw std::runtime_error("no temporary file");
  ::close(file);
  return name;
}

std::string take(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return text;
}

void redirect(const std::filesystem::path& path, int to) {
  const int file = ::open(path.c_str(), O_WRONLY | O_TRUNC);
  ::dup2(file, to);
  ::close(file);
}

}  // namespace

Background::Background(const Arguments& arguments, const Surroundings& surroundings, Start start)
    : out_(temporary_file()), err_(temporary_file()) {
  const char* const program = std::getenv("SADAM_PROGRAM");
  if (program == nullptr) throw std::runtime_error("set SADAM_PROGRAM to the program's path, as ctest does");
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);  // or the fork would print what waits to be printed here
  process_ = ::fork();
  if (process_ != 0) return;
  redirect(out_, 1);
  redirect(err_, 2);
  for (const auto& variable : surroundings.environment)
    ::setenv(variable.substr(0, variable.find('=')).c_str(), variable.c_str() + variable.find('=') + 1, 1);
  if (!surroundings.folder.empty()) std::filesystem::current_path(surroundings.folder);
#ifdef SADAM_CLI_BY_FORK
  if (start == Start::by_fork) ::_exit(run(static_cast<int>(words.size()), pointers.data()));
#else
  static_cast<void>(start);
#endif
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

Ended Background::wait() {
  int status = 0;
  ::waitpid(process_, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), take(out_), take(err_)};
}

void Background::signal(int number) const { ::kill(process_, number); }

bool Background::has_ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process_;
}

std::string Background::said() const {
  std::ifstream in(out_);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Background::in_proc(const std::string& file) const {
  std::ifstream in("/proc/" + std::to_string(process_) + "/" + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

Ended run_program(const Arguments& arguments) { return Background(arguments).wait(); }

void expect_refused(const Ended& ended, int status, const std::vector<std::string>& parts) {
  EXPECT_EQ(ended.status, status) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(ended.err.starts_with("sadam: ")) << ended.err;
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  for (const auto& part : parts) EXPECT_TRUE(says(ended.err, part));
}

Ended execute_program(const Arguments& arguments) {
  return Background(arguments, Background::Start::by_exec).wait();
}

Ended run_and_signal(const Arguments& arguments, std::chrono::milliseconds after, int signal) {
  Background program(arguments);
  std::this_thread::sleep_for(after);
  program.signal(signal);
  return program.wait();
}

void damage_checkpoints(const std::filesystem::path& run) {
  for (const auto& entry : std::filesystem::directory_iterator(run))
    if (entry.path().extension() == ".pt") std::ofstream(entry.path()) << "not a checkpoint";
}

std::vector<int> children_of(int process) {
  const auto id = std::to_string(process);
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  return {std::istream_iterator<int>(list), {}};
}

Arguments small_run(int images) {
  return {"--set", "data.name=synthetic10",    "--set",  "data.train_images=" + std::to_string(images),
          "--set", "data.test_images=50",      "--set",  "train.batch=16",
          "--set", "train.epochs=2",           "--set",  "train.threads=1",
          "--set", "train.checkpoint_every=3", "--quiet"};
}

std::string small_table() {
  return "[data]\nname = 'synthetic10'\ntrain_images = 96\ntest_images = 50\n"
         "[train]\nepochs = 1\nbatch = 16\nthreads = 1\n"
         "[table]\ntitle = 'small'\nseeds = [1]\nbaseline = 'adamw'\n"
         "[[table.column]]\nkey = 'c'\ntitle = 'built-in data'\n"
         "[[table.row]]\nkey = 'sadam'\ntitle = 'S-Adam'\n"
         "[[table.row]]\nkey = 'adamw'\ntitle = 'AdamW'\nset = [\"optimizer.name = 'adamw'\"]\n";
}

}  // namespace sadam::cli
