#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <string_view>
#include <thread>

#include "base/child.h"
#include "base/file.h"
#include "base/text.h"
#include "train/team.h"

namespace sadam::train {
namespace {

// A port that nobody else gets while this lives. The store of rank 0, which like this one wants to share its
// address, can listen there.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = sizeof(address);
    if (::setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        ::bind(socket_.number(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw base::failure("open", "a port", errno);
    number_ = ntohs(address.sin_port);
  }
  int number() const { return number_; }

 private:
  base::Descriptor socket_;
  int number_ = 0;
};

// What a process says at its end need not be read before.
base::Descriptor memory_file() {
  base::Descriptor file(::memfd_create("words", MFD_CLOEXEC));
  if (file.number() < 0) throw base::failure("make", "a file in memory", errno);
  return file;
}

// "" where it cannot be read: whoever asks has something worse to say.
std::string last_line(const base::Descriptor& file) {
  std::string text;
  try {
    text = base::read_text(fmt::format("/proc/self/fd/{}", file.number()));
  } catch (const Error&) {
    return "";
  }
  while (text.ends_with('\n')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  constexpr std::string_view kOurs = "sadam: ";
  return base::printable(text.starts_with(kOurs) ? text.substr(kOurs.size()) : text);
}

bool is_about_others(const std::string& words) {
  return words.find(" gave up") != std::string::npos || words.find(" no rank takes it") != std::string::npos;
}

}  // namespace

struct LocalRanks::Process {
  explicit Process(const std::vector<std::string>& environment)
      // Whatever this process is told, it tells them, or takes them with it.
      : child({"sadam", "train", "--join"}, {.out = words,
                                             .err = words,
                                             .environment = environment,
                                             .signal_when_orphaned = SIGKILL,
                                             .ignored = {SIGINT, SIGTERM, SIGHUP}}) {}

  /// It has nothing to save.
  ~Process() {
    child.signal(SIGKILL);
    child.wait();
  }

  base::Descriptor words = memory_file();
  base::Child child;
};

LocalRanks::LocalRanks(int size) : size_(size) {
  const Port port;
  auto options = RankOptions().host("127.0.0.1").port(port.number()).size(size).local_size(size);
  options.timeout_from_environment();
  const auto variable = [](const char* name, int value) { return fmt::format("{}={}", name, value); };
  for (int rank = 1; rank < size; ++rank)
    processes_.push_back(std::make_unique<Process>(std::vector<std::string>{
        variable("RANK", rank), variable("WORLD_SIZE", size), variable("LOCAL_RANK", rank),
        variable("LOCAL_WORLD_SIZE", size), "MASTER_ADDR=127.0.0.1", variable("MASTER_PORT", port.number()),
        "TORCHELASTIC_USE_AGENT_STORE"}));
  try {
    team_ = meet(options);
  } catch (const Error& error) {
    throw Error(explanation(error));
  }
}

// A thread waits for the others, and is left behind if one of them ends instead of coming.
Team LocalRanks::meet(const RankOptions& options) {
  const auto promise = std::make_shared<std::promise<Team>>();
  auto team = promise->get_future();
  std::thread([promise, options] {
    try {
      promise->set_value(Team(options));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  while (team.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready)
    for (const auto& process : processes_)
      if (process->child.status()) throw Error("a process ended before the run began.");
  return team.get();
}

LocalRanks::~LocalRanks() = default;

std::string LocalRanks::name_of(std::size_t process) const {
  return fmt::format("rank {} of {}", process + 1, size_);
}

std::string LocalRanks::explanation(const Error& error) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::optional<std::string> words_of_one;
  do {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const auto status = processes_[i]->child.status();
      if (!status || *status == 0) continue;
      if (WIFSIGNALED(*status))
        return fmt::format(
            "{} {}: look for the reason, such as too little memory; --resume goes on with what was "
            "saved.",
            name_of(i), base::how_it_ended(*status));
      const auto words = last_line(processes_[i]->words);
      if (!is_about_others(words)) words_of_one = fmt::format("{}: {}", name_of(i), words);
    }
    if (!words_of_one) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (!words_of_one && std::chrono::steady_clock::now() < until);
  return words_of_one.value_or(error.what());
}

}  // namespace sadam::train
