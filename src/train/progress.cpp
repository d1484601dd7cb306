#include "train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/display_width.h"
#include "base/quantities.h"

namespace sadam::train {
namespace {

constexpr std::size_t window = 50;
constexpr double seconds_between_redraws = 0.1;
constexpr double seconds_between_plain_lines = 30;
constexpr std::string_view start_of_empty_line = "\r\033[K";

/// Means over what there is: a step that was skipped has no finite loss.
class FiniteMean {
 public:
  void add(double value) {
    if (!std::isfinite(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const {
    return count_ == 0 ? std::numeric_limits<double>::quiet_NaN() : sum_ / static_cast<double>(count_);
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

std::string progress_bar(double fraction) {
  constexpr int cells = 12;
  const auto filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * cells);
  std::string bar;
  for (int i = 0; i < cells; ++i) bar += i < filled ? "█" : "░";
  return bar;
}

std::string step_rate(double seconds_per_step) {
  const double rate = 1 / seconds_per_step;
  if (!std::isfinite(rate)) return "– step/s";
  return fmt::format("{:.{}f} step/s", rate, rate < 10 ? 2 : rate < 100 ? 1 : 0);
}

/// "epoch  3/10", the same width for every epoch.
std::string epoch_of(std::int64_t epoch, std::int64_t epochs) {
  const auto total = fmt::format("{}", epochs);
  return fmt::format("epoch {:>{}}/{}", epoch, total.size(), total);
}

}  // namespace

ProgressStyle progress_style(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  const bool capable = term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
  return capable && isatty(fileno(stream)) == 1 ? ProgressStyle::live : ProgressStyle::plain;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t terminal_columns(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

Progress::Progress(std::ostream& out, ProgressOptions options) : out_(out), options_(std::move(options)) {}

Progress::~Progress() {
  try {
    finish();
  } catch (const std::exception&) {
    // A stream that throws cannot be written to any more; there is nobody left to tell.
  }
}

void Progress::start(std::string_view name, std::int64_t epochs, std::int64_t steps_per_epoch,
                     std::int64_t steps_done) {
  epochs_ = epochs;
  steps_per_epoch_ = steps_per_epoch;
  epoch_ = 0;
  step_ = steps_done;
  evaluate_seconds_ = 0;
  recent_.clear();
  last_shown_ = options_.clock();
  auto line = fmt::format("{}: {} epoch{} of {} step{}", base::printable(name), epochs,
                          epochs == 1 ? "" : "s", steps_per_epoch, steps_per_epoch == 1 ? "" : "s");
  if (steps_done > 0) line += fmt::format(", going on after step {}", steps_done);
  print(line);
}

void Progress::step(const StepEvent& event, double train_seconds) {
  if (options_.style == ProgressStyle::quiet) return;
  epoch_ = event.epoch;
  step_ = event.step;
  recent_.push_back({event.loss, event.lgi, event.brake, event.probed, train_seconds});
  if (recent_.size() > window) recent_.pop_front();

  const double now = options_.clock();
  const bool live = options_.style == ProgressStyle::live;
  const double pause = live ? seconds_between_redraws : seconds_between_plain_lines;
  if (now - last_shown_ < pause && (line_is_drawn_ || !live)) return;
  last_shown_ = now;
  if (live)
    draw();
  else
    print(state_line(false));
}

void Progress::epoch(const EpochEvent& event) {
  epoch_ = event.epoch;
  step_ = event.step;
  if (event.epoch > 0) evaluate_seconds_ = event.evaluate_seconds / static_cast<double>(event.epoch);
  auto line =
      fmt::format("{}  test {:5.2f} %  loss {:.4f}  train loss {:.4f}", epoch_of(event.epoch, epochs_),
                  100 * event.test_accuracy, event.test_loss, event.train_loss);
  // Both are constant where nothing probes and nothing brakes, and only take up room.
  if (event.mean_lgi != 0) line += fmt::format("  ρ {:.3f}", event.mean_lgi);
  if (event.mean_lgi != 0 || event.mean_brake != 1) line += fmt::format("  brake {:.3f}", event.mean_brake);
  print(line + "  " + base::duration(event.train_seconds));
  last_shown_ = options_.clock();
}

void Progress::note(std::string_view text) { print(base::printable(text)); }

void Progress::finish() {
  if (line_is_drawn_) out_ << start_of_empty_line << std::flush;
  line_is_drawn_ = false;
}

Progress::Means Progress::means() const {
  FiniteMean loss;
  FiniteMean lgi;
  FiniteMean brake;
  bool probed = false;
  bool brakes = false;
  for (const auto& sample : recent_) {
    loss.add(sample.loss);
    if (sample.probed) lgi.add(sample.lgi);
    brake.add(sample.brake);
    probed = probed || sample.probed;
    brakes = brakes || sample.brake != 1;
  }
  Means result;
  result.loss = loss.value();
  if (probed) result.lgi = lgi.value();
  if (probed || brakes) result.brake = brake.value();
  return result;
}

double Progress::seconds_per_step() const {
  if (recent_.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto& last = recent_.back();
  if (recent_.size() == 1) return last.train_seconds / static_cast<double>(step_);
  return (last.train_seconds - recent_.front().train_seconds) / static_cast<double>(recent_.size() - 1);
}

double Progress::seconds_left() const {
  const auto steps = std::max<std::int64_t>(0, epochs_ * steps_per_epoch_ - step_);
  const auto evaluations = std::max<std::int64_t>(0, epochs_ - epoch_ + 1);
  return static_cast<double>(steps) * seconds_per_step() +
         static_cast<double>(evaluations) * evaluate_seconds_;
}

std::string Progress::state_line(bool bar) const {
  const auto now = means();
  const auto in_epoch = step_ - (epoch_ - 1) * steps_per_epoch_;
  auto line = epoch_of(epoch_, epochs_);
  if (bar) {
    const auto of = static_cast<double>(std::max<std::int64_t>(1, steps_per_epoch_));
    line += ' ' + progress_bar(static_cast<double>(in_epoch) / of);
  } else {
    line += fmt::format("  step {}/{}", in_epoch, steps_per_epoch_);
  }
  line += "  " + step_rate(seconds_per_step()) + "  ETA " + base::duration(seconds_left());
  line += fmt::format("  loss {:.4f}", now.loss);
  if (now.lgi) line += fmt::format("  ρ {:.3f}", *now.lgi);
  if (now.brake) line += fmt::format("  brake {:.3f}", *now.brake);
  return line;
}

void Progress::draw() {
  // A line that fills the last column makes some terminals go on to the next one.
  const auto columns = std::max<std::size_t>(1, options_.columns()) - 1;
  out_ << start_of_empty_line << base::cut_to_width(state_line(true), columns) << std::flush;
  line_is_drawn_ = true;
}

void Progress::print(std::string_view line) {
  if (options_.style == ProgressStyle::quiet) return;
  if (line_is_drawn_) out_ << start_of_empty_line;
  line_is_drawn_ = false;
  out_ << line << std::endl;
}

}  // namespace sadam::train
