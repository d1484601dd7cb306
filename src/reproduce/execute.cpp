#include "reproduce/execute.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "base/child.h"
#include "base/file.h"
#include "base/quantities.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "report/run_summary.h"
#include "train/checkpoint.h"
#include "train/progress.h"
#include "train/recipe/fields.h"
#include "train/setup.h"
#include "train/trainer.h"

namespace sadam::reproduce {
namespace {

/// To the last checkpoint: events alone may be ahead of it.
bool is_finished(const PlannedRun& run) {
  const auto position = train::saved_position(train::RunPaths{run.folder});
  return position && position->epoch >= run.recipe.train.epochs;
}

/// Whether some process has a run of the plan.
bool is_in_hand(const Plan& plan) {
  return std::ranges::any_of(
      plan.runs, [](const PlannedRun& run) { return train::is_in_use(train::RunPaths{run.folder}); });
}

/// A number that changes with any run of the plan.
std::string fingerprint(const Plan& plan) {
  std::uint32_t checksum = 0;
  for (const auto& run : plan.runs) {
    const auto text = fmt::format("{}\n{}", run.folder.string(), to_toml(run.recipe));
    checksum = base::crc32(std::as_bytes(std::span(text)), checksum);
  }
  return fmt::format("{:08x}", checksum);
}

std::vector<const PlannedRun*> open_runs(const Plan& plan) {
  std::vector<const PlannedRun*> open;
  for (const auto& run : plan.runs)
    if (!is_finished(run)) open.push_back(&run);
  return open;
}

// ---- who is told ------------------------------------------------------------------------------------------

/// Told by the process that trains.
class Herald {
 public:
  virtual ~Herald() = default;
  /// A column whose data or weights are not here.
  virtual void left_out(std::size_t column, const std::string& why) = 0;
  virtual void begun(const PlannedRun& run) = 0;
  /// Trained to its end.
  virtual void ended(const PlannedRun& run) = 0;
  /// Not trained to its end; the others go on.
  virtual void failed(const PlannedRun& run, const std::string& why) = 0;
};

/// Tells a person: which run is next, how each ended, and when all will have.
class Teller : public Herald {
 public:
  Teller(const Plan& plan, const ExecuteOptions& options, std::size_t open)
      : plan_(plan), options_(options), open_(open) {}

  void left_out(std::size_t column, const std::string& why) override {
    notices_ += fmt::format("{} is left out: {}\n", plan_.table.columns[column].title, why);
  }

  void begun(const PlannedRun& run) override {
    ++begun_;
    options_.out << std::exchange(notices_, {});
    if (!options_.brief)
      options_.out << fmt::format("[{}/{}] {}\n", done_before() + begun_, plan_.runs.size(),
                                  run.label(plan_.table));
    options_.out << std::flush;
  }

  void ended(const PlannedRun& run) override {
    ++ended_;
    const auto label = run.label(plan_.table);
    const auto summary = report::summarise(train::RunPaths{run.folder}, label);
    const auto accuracy = [](const std::optional<double>& fraction) {
      return fraction ? fmt::format("{} %", base::decimal(100 * *fraction, 2)) : std::string("–");
    };
    const double seconds = summary.train_seconds.value_or(0) + summary.evaluate_seconds.value_or(0);
    const auto best = accuracy(summary.best_accuracy);
    auto line = fmt::format("{}: best {}, last {}, {}; {}", label, best, accuracy(summary.last_accuracy),
                            base::duration(seconds), standing());
    if (options_.live && base::display_width(line) > base::terminal_columns(stderr))
      line = fmt::format("{}: best {}; {}", label, best, standing());
    options_.out << line << std::endl;
  }

  void failed(const PlannedRun& run, const std::string& why) override {
    ++ended_;
    options_.out << fmt::format("{} failed: {}\n", run.label(plan_.table), why) << std::flush;
  }

  /// "3 of 12 done, ETA 3:20"; without a time before the first run has ended.
  std::string standing() const {
    auto text = fmt::format("{} of {} done", done_before() + ended_, plan_.runs.size());
    if (ended_ == 0 || ended_ >= open_) return text;
    const double each = (train::steady_seconds() - start_) / static_cast<double>(ended_);
    return text + fmt::format(", ETA {}", base::duration(each * static_cast<double>(open_ - ended_)));
  }

 private:
  std::size_t done_before() const { return plan_.runs.size() - open_; }

  const Plan& plan_;
  const ExecuteOptions& options_;
  // Said before the next run begins. Where none does, the caller has nothing else to say.
  std::string notices_;
  std::size_t open_;
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;
  double start_ = train::steady_seconds();
};

// The kinds of line that a worker writes.
constexpr char kLeftOut = 'x';
constexpr char kBegun = '+';
constexpr char kEnded = '=';
constexpr char kFailed = '!';

/// What a worker writes to the process that started it, line by line.
class WorkerReport : public Herald {
 public:
  WorkerReport(const Plan& plan, std::ostream& out) : plan_(plan), out_(out) {}

  void left_out(std::size_t column, const std::string& why) override { say(kLeftOut, column, why); }
  void begun(const PlannedRun& run) override { say(kBegun, index_of(run)); }
  void ended(const PlannedRun& run) override { say(kEnded, index_of(run)); }
  void failed(const PlannedRun& run, const std::string& why) override { say(kFailed, index_of(run), why); }

 private:
  std::size_t index_of(const PlannedRun& run) const {
    return static_cast<std::size_t>(&run - plan_.runs.data());
  }
  void say(char kind, std::size_t index, const std::string& text = "") {
    out_ << fmt::format("{}{} {}\n", kind, index, base::printable(text)) << std::flush;
  }

  const Plan& plan_;
  std::ostream& out_;
};

// ---- one process ------------------------------------------------------------------------------------------

// The run's folder, made or opened. Nothing while another process has it.
std::optional<train::RunFolder> take_folder(const PlannedRun& run, train::DataSets& data) {
  try {
    if (!is_begun(run)) {
      try {
        return train::begin_run(run.folder, run.recipe, data);
      } catch (const Error&) {
        if (!is_begun(run)) throw;  // otherwise another process was quicker
      }
    }
    auto folder = train::RunFolder::open(run.folder);
    check_same_recipe(run, Purpose::train);
    return folder;
  } catch (const train::FolderInUse&) {
    return std::nullopt;
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// One process that trains.
class Executor {
 public:
  Executor(const Plan& plan, const ExecuteOptions& options, Herald& herald)
      : plan_(plan), options_(options), herald_(herald) {}

  Execution go(std::vector<const PlannedRun*> open) {
    for (const auto& [column, why] : missing_columns(plan_, open)) leave_out(column, why);
    // Round by round, until all are done or what is left is in other hands.
    while (!open.empty() && !execution_.stopped) {
      auto left = round(open);
      if (left.size() == open.size() && (options_.worker.plan.empty() || !wait_for_others())) {
        // What waits for a run that failed waits for nobody.
        if (!execution_.failures.empty() && !is_in_hand(plan_)) break;
        for (const auto* run : left) execution_.elsewhere.push_back(run->label(plan_.table));
        break;
      }
      open = std::move(left);
    }
    return std::move(execution_);
  }

 private:
  // Returns those that have to wait.
  std::vector<const PlannedRun*> round(const std::vector<const PlannedRun*>& open) {
    std::vector<const PlannedRun*> waiting;
    for (const auto* run : open) {
      if (options_.stop) execution_.stopped = true;
      if (execution_.stopped) break;
      if (execution_.unavailable.contains(run->column)) continue;
      // Data is opened only for a run that can be had.
      const bool is_free = is_ready(*run) && !train::is_in_use(train::RunPaths{run->folder});
      if (is_free && (is_finished(*run) || is_unavailable(*run))) continue;
      if (!is_free || !try_to_train(*run)) waiting.push_back(run);
    }
    return waiting;
  }

  // A while later, whether another process has a run of the plan. One may be between two of them: only when
  // nobody was seen twice, nobody is there.
  bool wait_for_others() {
    for (int looks = 0; looks < 2; ++looks) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (is_in_hand(plan_)) return true;
    }
    return false;
  }

  // Data that are there, as missing_columns() has seen, may yet be damaged.
  bool is_unavailable(const PlannedRun& run) {
    try {
      data_.open(run.recipe.data);
      return false;
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      leave_out(run.column, error.what());
      return true;
    }
  }

  void leave_out(std::size_t column, const std::string& why) {
    execution_.unavailable[column] = why;
    herald_.left_out(column, why);
  }

  // False if it has to wait for another process.
  bool try_to_train(const PlannedRun& run) {
    try {
      return train(run);
    } catch (const UsageError&) {
      throw;
    } catch (const std::bad_alloc&) {
      fail(run, "out of memory: use a smaller batch (train.batch) or smaller data.");
    } catch (const std::exception& error) {
      fail(run, first_line(error.what()));
    }
    return true;
  }

  void fail(const PlannedRun& run, const std::string& why) {
    execution_.failures.push_back(fmt::format("{}: {}", run.label(plan_.table), why));
    herald_.failed(run, why);
  }

  bool train(const PlannedRun& run) {
    const auto folder = take_folder(run, data_);
    if (!folder) return false;
    if (is_finished(run)) return true;  // by another process, meanwhile
    herald_.begun(run);
    const auto outcome = train::continue_run(
        *folder, {.progress = &options_.progress, .stop = &options_.stop, .data = &data_});
    execution_.stopped = outcome == train::Outcome::stopped;
    if (!execution_.stopped) herald_.ended(run);
    return true;
  }

  // A control needs all brakes of the run that it controls.
  bool is_ready(const PlannedRun& run) const {
    const auto& wanted = run.recipe.control.run;
    return wanted.empty() || std::ranges::none_of(plan_.runs, [&](const PlannedRun& other) {
             return other.folder == wanted && !is_finished(other);
           });
  }

  const Plan& plan_;
  const ExecuteOptions& options_;
  Herald& herald_;
  train::DataSets data_;
  Execution execution_;
};

// What `plan` says, for the process that another one started.
Execution execute_as_worker(Plan plan, const ExecuteOptions& options) {
  for (auto& run : plan.runs)
    if (auto& train = run.recipe.train; train.threads == 0)
      train.threads = std::max<std::int64_t>(1, options.worker.threads / train.processes);
  WorkerReport report(plan, std::cout);
  return Executor(plan, options, report).go(open_runs(plan));
}

// ---- several ----------------------------------------------------------------------------------------------
// As many processes of this program, which share a plan as any processes can, and this one, which starts
// them, tells what becomes of the runs, and stops them.

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

Execution execute(const Plan& plan, const ExecuteOptions& options) {
  if (!options.worker.plan.empty())
    return options.worker.plan == fingerprint(plan) ? execute_as_worker(plan, options) : Execution();
  check_runs(plan);
  check_same_recipes(plan, Purpose::train);
  const auto open = open_runs(plan);
  options.out << fmt::format("{}, {} of them done.\n", base::counted(plan.runs.size(), "run"),
                             plan.runs.size() - open.size());
  if (options.jobs > 1 && open.size() > 1) return Crew(plan, options, open).go();
  Teller teller(plan, options, open.size());
  return Executor(plan, options, teller).go(open);
}

}  // namespace sadam::reproduce
