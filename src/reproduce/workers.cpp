// Several runs at once: as many processes of this program, which share a plan as any processes can, and this
// one, which starts them, tells what becomes of the runs, and stops them.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "base/child.h"
#include "base/file.h"
#include "base/terminal.h"
#include "base/text.h"
#include "reproduce/herald.h"
#include "train/progress.h"
#include "train/recipe/fields.h"

namespace sadam::reproduce {
namespace {

// The kinds of line that a worker writes.
constexpr char kLeftOut = 'x';
constexpr char kBegun = '+';
constexpr char kEnded = '=';
constexpr char kFailed = '!';

// This program, as it was called, with what makes it a worker right behind the subcommand.
std::vector<std::string> command_of_worker(const std::string& plan, std::int64_t threads) {
  auto words = base::own_command_line();
  const auto subcommand = static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, words.size()));
  words.insert(words.begin() + subcommand,
               {"--worker", plan, "--worker-threads", fmt::format("{}", threads)});
  return words;
}

struct Worker {
  Worker(const std::vector<std::string>& words, base::Pipe out, base::Pipe err)
      // Ctrl-C goes to this program alone, which tells its workers once: told twice they would not save. When
      // nobody listens any more, they save all the same.
      : process(words, {.out = out.write,
                        .err = err.write,
                        .signal_when_orphaned = SIGTERM,
                        .in_own_group = true,
                        .ignored = {SIGPIPE}}),
        lines(std::move(out.read)),
        words_spoken(std::move(err.read)) {}

  base::Child process;
  base::Lines lines;
  base::Lines words_spoken;
  const PlannedRun* run = nullptr;  ///< what it trains
  std::string last_words;
  bool has_failures = false;  ///< of runs, which were told
};

class Crew {
 public:
  Crew(const Plan& plan, const ExecuteOptions& options, const std::vector<const PlannedRun*>& open)
      : plan_(plan), options_(without_begin_lines(options)), teller_(plan, options_, open.size()) {
    for (const auto& [column, why] : missing_columns(plan, open)) leave_out(column, why);
    const auto count = std::min<std::size_t>(
        static_cast<std::size_t>(options.jobs),
        static_cast<std::size_t>(std::ranges::count_if(
            open, [&](const PlannedRun* run) { return !execution_.unavailable.contains(run->column); })));
    if (count == 0) return;
    const auto cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    const auto words = command_of_worker(fingerprint(plan),
                                         static_cast<std::int64_t>(std::max<std::size_t>(1, cores / count)));
    for (std::size_t i = 0; i < count; ++i)
      workers_.push_back(std::make_unique<Worker>(words, base::make_pipe(), base::make_pipe()));
  }

  Execution go() {
    while (look()) {
      if (options_.stop && !execution_.stopped) {
        execution_.stopped = true;
        for (const auto& worker : workers_) worker->process.signal(SIGTERM);
      }
      draw();
    }
    erase();
    if (execution_.stopped || !execution_.failures.empty()) return std::move(execution_);
    const bool others_work = is_in_hand(plan_);
    for (const auto& run : plan_.runs) {
      if (execution_.unavailable.contains(run.column) || is_finished(run)) continue;
      const auto label = run.label(plan_.table);
      if (others_work)
        execution_.elsewhere.push_back(label);
      else
        execution_.failures.push_back(fmt::format(
            "{} was not trained, as if the recipe had changed meanwhile: give the command again.", label));
    }
    return std::move(execution_);
  }

 private:
  // Waits for something to happen, a moment at most. False when all have ended.
  bool look() {
    std::vector<pollfd> pipes;
    for (const auto& worker : workers_)
      for (const auto* lines : {&worker->lines, &worker->words_spoken})
        if (lines->is_open()) pipes.push_back({lines->number(), POLLIN, 0});
    if (pipes.empty()) return false;
    constexpr int kMilliseconds = 100;
    ::poll(pipes.data(), pipes.size(), kMilliseconds);
    const auto is_ready = [&](const base::Lines& lines) {
      return std::ranges::any_of(
          pipes, [&](const pollfd& pipe) { return pipe.fd == lines.number() && pipe.revents != 0; });
    };
    for (const auto& worker : workers_) {
      if (worker->lines.is_open() && is_ready(worker->lines))
        for (const auto& line : worker->lines.take()) hear(*worker, line);
      if (worker->words_spoken.is_open() && is_ready(worker->words_spoken))
        for (const auto& line : worker->words_spoken.take()) relay(*worker, line);
      if (!worker->process.is_waited_for() && !worker->lines.is_open() && !worker->words_spoken.is_open())
        bury(*worker);
    }
    return true;
  }

  void hear(Worker& worker, std::string_view line) {
    if (line.empty()) return;
    std::size_t index = 0;
    const auto space = line.find(' ');
    const auto number = line.substr(1, space - 1);
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), index);
    const bool is_column = line.front() == kLeftOut;
    if (parsed.ec != std::errc() || index >= (is_column ? plan_.table.columns.size() : plan_.runs.size()))
      return relay(worker, std::string(line));
    const std::string text(space == std::string_view::npos ? "" : line.substr(space + 1));
    erase();
    if (is_column) return leave_out(index, text);
    const auto& run = plan_.runs[index];
    worker.run = line.front() == kBegun ? &run : nullptr;
    if (line.front() == kBegun) teller_.begun(run);
    if (line.front() == kEnded) teller_.ended(run);
    if (line.front() != kFailed) return;
    worker.has_failures = true;
    // Another worker may have tried it before.
    if (!failed_.insert(&run).second) return;
    execution_.failures.push_back(fmt::format("{}: {}", run.label(plan_.table), text));
    teller_.failed(run, text);
  }

  void leave_out(std::size_t column, const std::string& why) {
    if (execution_.unavailable.emplace(column, why).second) teller_.left_out(column, why);
  }

  // What it complains of is shown; the sentence it ends with is kept for its end.
  void relay(Worker& worker, const std::string& line) {
    constexpr std::string_view kEnd = "sadam: ";
    worker.last_words = line.starts_with(kEnd) ? line.substr(kEnd.size()) : line;
    if (line.starts_with(kEnd)) return;
    erase();
    const auto who =
        worker.run != nullptr ? fmt::format("{}: ", worker.run->label(plan_.table)) : std::string();
    std::cerr << fmt::format("{}{}\n", who, base::printable(line))
              << std::flush;  // also if it is to be quiet
  }

  void bury(Worker& worker) {
    const int status = worker.process.wait();
    // One that had not come to its first run yet is ended by the signal.
    const bool was_told = execution_.stopped && (!WIFSIGNALED(status) || WTERMSIG(status) == SIGTERM);
    if (was_told || (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || worker.has_failures))) return;
    const auto what = worker.run != nullptr
                          ? fmt::format("the process that trained {}", worker.run->label(plan_.table))
                          : std::string("a process that was to train");
    const auto words = worker.last_words.empty()
                           ? ""
                           : fmt::format("; its last words: {}", base::printable(worker.last_words));
    const auto sentence = fmt::format("{} {}{}", what, base::how_it_ended(status), words);
    erase();
    options_.out << sentence << std::endl;
    execution_.failures.push_back(sentence);
  }

  // One line that says how it stands, where it can be drawn again.
  void draw() {
    if (!options_.live) return;
    const double now = train::steady_seconds();
    if (is_drawn_ && now - drawn_at_ < 0.5) return;
    std::vector<std::string> labels;
    for (const auto& worker : workers_)
      if (worker->run != nullptr && !worker->process.is_waited_for())
        labels.push_back(worker->run->label(plan_.table));
    const auto columns = base::terminal_columns(stderr);
    auto line = execution_.stopped ? std::string("stopping") : teller_.standing();
    // The names of as many as fit.
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto more = fmt::format("{}{}", i == 0 ? "; now " : ", ", labels[i]);
      if (base::display_width(line + more) + 1 >= columns) break;
      line += more;
    }
    options_.out << base::kClearBelow << line << base::kBackToStart << std::flush;
    drawn_at_ = now;
    is_drawn_ = true;
  }

  void erase() {
    if (is_drawn_) options_.out << base::kClearBelow << std::flush;
    is_drawn_ = false;
  }

  static ExecuteOptions without_begin_lines(ExecuteOptions options) {
    options.brief = true;
    return options;
  }

  const Plan& plan_;
  ExecuteOptions options_;
  Teller teller_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Execution execution_;
  std::set<const PlannedRun*> failed_;
  double drawn_at_ = 0;
  bool is_drawn_ = false;
};

}  // namespace

std::string fingerprint(const Plan& plan) {
  std::uint32_t checksum = 0;
  for (const auto& run : plan.runs) {
    const auto text = fmt::format("{}\n{}", run.folder.string(), to_toml(run.recipe));
    checksum = base::crc32(std::as_bytes(std::span(text)), checksum);
  }
  return fmt::format("{:08x}", checksum);
}

Execution execute_with_workers(const Plan& plan, const ExecuteOptions& options,
                               const std::vector<const PlannedRun*>& open) {
  return Crew(plan, options, open).go();
}

// ---- the other end ----------------------------------------------------------------------------------------

void WorkerReport::say(char kind, std::size_t index, const std::string& text) {
  out_ << fmt::format("{}{} {}\n", kind, index, base::printable(text)) << std::flush;
}

void WorkerReport::left_out(std::size_t column, const std::string& why) { say(kLeftOut, column, why); }

void WorkerReport::begun(const PlannedRun& run) {
  say(kBegun, static_cast<std::size_t>(&run - plan_.runs.data()));
}

void WorkerReport::ended(const PlannedRun& run) {
  say(kEnded, static_cast<std::size_t>(&run - plan_.runs.data()));
}

void WorkerReport::failed(const PlannedRun& run, const std::string& why) {
  say(kFailed, static_cast<std::size_t>(&run - plan_.runs.data()), why);
}

}  // namespace sadam::reproduce
