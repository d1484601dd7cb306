// What a person sees of a run while it goes: a live line on a terminal, plain lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"
#include "train/record/events.h"

namespace sadam::train {

enum class ProgressStyle {
  quiet,  ///< nothing
  plain,  ///< a line per epoch and one about every 30 seconds: for files and pipes
  live,   ///< a line per epoch, and below them one that is redrawn up to ten times a second
};

/// Live on a terminal that understands escape sequences (TERM is set and not "dumb"), plain elsewhere.
ProgressStyle progress_style(std::FILE* stream);

/// Seconds since some moment, never going back.
double steady_seconds();

/// How to show it. The functions are there to be replaced in tests.
struct ProgressOptions {
  ProgressStyle style = ProgressStyle::plain;
  std::function<double()> clock = steady_seconds;
  std::function<std::size_t()> columns = [] { return base::terminal_columns(stderr); };
  bool colour = false;
  bool brief = false;  ///< one of many runs: no line for its start and its epochs, and its name in the others
};

/// On the standard error, as it is there; nothing where it is to be quiet.
ProgressOptions progress_on_stderr(bool quiet, bool brief = false);

/// What is known of a run before its first step.
struct RunShape {
  std::int64_t epochs = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t steps_done = 0;  ///< how far an earlier process came, if this one goes on with its run
  std::int64_t pixels = 0;      ///< of an image's side, as the network sees it
  bool scaled = false;          ///< images are made that size
  double steps_per_evaluation =
      0;  ///< how many steps an evaluation may cost: a guess for before the first one
};

/// Fed by the trainer. Loss, ρ, brake and speed are means over the last 50 steps. Each line is flushed at
/// once.
///
///     Progress progress(std::cerr, {.style = quiet ? ProgressStyle::quiet : progress_style(stderr)});
class Progress {
 public:
  explicit Progress(std::ostream& out, ProgressOptions options = {});
  /// One that nobody sees: not even its warnings.
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Takes the live line away, so that an error message begins on an empty line.
  ~Progress();

  void start(std::string_view name, const RunShape& shape);
  /// `train_seconds`: since the start of the run, evaluation and pauses left out, so that these distort
  /// neither the speed nor the time left.
  void step(const StepEvent& event, double train_seconds);
  /// So many batches of the evaluation that ends the epoch are done; first told with 0.
  void evaluating(std::int64_t done, std::int64_t batches);
  /// `counts`: of the epoch's steps.
  void epoch(const EpochEvent& event, const StepCounts& counts);
  void note(std::string_view text);
  /// What must not go unseen: shown in the quiet style too.
  void warn(std::string_view text);
  void finish();

 private:
  struct Recent {
    StepEvent step;
    double train_seconds;
  };

  struct LineField {
    std::string text;
    int importance = 0;  ///< the least important goes first
    base::Tone tone = base::Tone::plain;
  };

  double mean_of(double StepEvent::*field) const;
  double seconds_per_step() const;
  double seconds_left() const;
  std::int64_t step_in_epoch() const;
  std::vector<LineField> state() const;
  static std::size_t width_of(const std::vector<LineField>& fields);
  std::string fitted(std::vector<LineField> fields, std::size_t columns) const;
  std::string plain_line() const;
  std::string live_line(std::size_t columns) const;
  bool is_due() const;
  void show_state();
  void print(std::string_view line);

  std::ostream& out_;
  ProgressOptions options_;
  std::string name_;
  RunShape shape_;
  std::int64_t epoch_ = 0;
  std::int64_t step_ = 0;
  std::optional<double> evaluate_seconds_;  ///< per epoch, once there was one
  std::optional<double> evaluated_;         ///< the part of an evaluation that is done, while there is one
  double evaluation_began_ = 0;
  std::deque<Recent> recent_;
  double last_shown_ = 0;
  bool line_is_drawn_ = false;
};

}  // namespace sadam::train
