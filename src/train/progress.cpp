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

#include "base/quantities.h"
#include "base/text.h"

namespace sadam::train {
namespace {

constexpr std::size_t kWindow = 50;
constexpr double kSecondsBetweenRedraws = 0.1;
constexpr double kSecondsBetweenPlainLines = 30;
constexpr std::string_view kStartOfEmptyLine = "\r\033[K";

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

std::string progress_bar(double fraction, std::size_t cells) {
  const auto filled = static_cast<std::size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(cells));
  std::string bar;
  for (std::size_t i = 0; i < cells; ++i) bar += i < filled ? "█" : "░";
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

/// In their order, with two spaces between them.
template <class LineField>
std::string joined(const std::vector<LineField>& fields) {
  std::string line;
  for (const auto& field : fields) line += (line.empty() ? "" : "  ") + field.text;
  return line;
}

/// As many of them, the most important ones, as fit into so many columns: whole fields go where there is
/// little room, and no number is cut in two.
template <class LineField>
std::string fitted(std::vector<LineField> fields, std::size_t columns) {
  auto line = joined(fields);
  while (base::display_width(line) > columns) {
    fields.erase(std::min_element(fields.begin(), fields.end(),
                                  [](const auto& a, const auto& b) { return a.importance < b.importance; }));
    line = joined(fields);
  }
  return line;
}

}  // namespace

struct Progress::LineField {
  std::string text;
  int importance = 0;  ///< the least important goes first
};

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
  name_ = base::printable(name);
  epochs_ = epochs;
  steps_per_epoch_ = steps_per_epoch;
  epoch_ = 0;
  step_ = steps_done;
  evaluate_seconds_ = 0;
  recent_.clear();
  last_shown_ = options_.clock();
  if (options_.brief) return;
  auto line = fmt::format("{}: {} epoch{} of {} step{}", name_, epochs, epochs == 1 ? "" : "s",
                          steps_per_epoch, steps_per_epoch == 1 ? "" : "s");
  if (steps_done > 0) line += fmt::format(", going on after step {}", steps_done);
  print(line);
}

void Progress::step(const StepEvent& event, double train_seconds) {
  if (options_.style == ProgressStyle::quiet) return;
  epoch_ = event.epoch;
  step_ = event.step;
  recent_.push_back({event.loss, event.lgi, event.brake, event.probed, event.skipped, train_seconds});
  if (recent_.size() > kWindow) recent_.pop_front();

  const double now = options_.clock();
  const bool live = options_.style == ProgressStyle::live;
  const double pause = live ? kSecondsBetweenRedraws : kSecondsBetweenPlainLines;
  if (now - last_shown_ < pause && (line_is_drawn_ || !live)) return;
  last_shown_ = now;
  if (live)
    draw();
  else
    print(plain_line());
}

void Progress::epoch(const EpochEvent& event, const StepCounts& counts) {
  epoch_ = event.epoch;
  step_ = event.step;
  if (event.epoch > 0) evaluate_seconds_ = event.evaluate_seconds / static_cast<double>(event.epoch);
  if (options_.brief) return;
  auto line = fmt::format("{}  test {:5.2f} %  loss {}  train loss {}", epoch_of(event.epoch, epochs_),
                          100 * event.test_accuracy, base::decimal(event.test_loss, 4),
                          base::decimal(event.train_loss, 4));
  // Both are constant where nothing probes and nothing brakes, and only take up room.
  if (event.mean_lgi != 0) line += fmt::format("  ρ {}", base::decimal(event.mean_lgi, 3));
  if (event.mean_lgi != 0 || event.mean_brake != 1)
    line += fmt::format("  brake {}", base::decimal(event.mean_brake, 3));
  line += fmt::format("  {}", base::duration(event.train_seconds));
  if (counts.skipped > 0) line += fmt::format("  skipped {}/{}", counts.skipped, counts.steps);
  if (counts.non_finite_probes > 0) line += fmt::format("  probes not finite {}", counts.non_finite_probes);
  if (counts.within_noise > 0) line += fmt::format("  ρ is noise {}/{}", counts.within_noise, counts.probed);
  print(line);
  last_shown_ = options_.clock();
}

void Progress::note(std::string_view text) { print(base::printable(text)); }

void Progress::warn(std::string_view text) {
  finish();  // takes the live line away
  out_ << base::printable(text) << std::endl;
}

void Progress::finish() {
  if (line_is_drawn_) out_ << kStartOfEmptyLine << std::flush;
  line_is_drawn_ = false;
}

Progress::Means Progress::means() const {
  FiniteMean loss;
  FiniteMean lgi;
  FiniteMean brake;
  bool probed = false;
  bool brakes = false;
  std::size_t skipped = 0;
  for (const auto& sample : recent_) {
    loss.add(sample.loss);
    if (sample.probed) lgi.add(sample.lgi);
    brake.add(sample.brake);
    probed = probed || sample.probed;
    brakes = brakes || sample.brake != 1;
    if (sample.skipped) ++skipped;
  }
  Means result;
  result.skipped = skipped;
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

std::vector<Progress::LineField> Progress::state() const {
  const auto now = means();
  std::vector<LineField> fields = {{epoch_of(epoch_, epochs_), 7},
                                   {step_rate(seconds_per_step()), 1},
                                   {fmt::format("ETA {}", base::duration(seconds_left())), 4},
                                   {fmt::format("loss {}", base::decimal(now.loss, 4)), 6}};
  if (options_.brief) fields.insert(fields.begin(), {name_.substr(name_.rfind('/') + 1), 8});
  if (now.skipped > 0) fields.push_back({fmt::format("skipped {}/{}", now.skipped, recent_.size()), 5});
  if (now.lgi) fields.push_back({fmt::format("ρ {}", base::decimal(*now.lgi, 3)), 2});
  if (now.brake) fields.push_back({fmt::format("brake {}", base::decimal(*now.brake, 3)), 3});
  return fields;
}

std::int64_t Progress::step_in_epoch() const { return step_ - (epoch_ - 1) * steps_per_epoch_; }

std::string Progress::plain_line() const {
  auto fields = state();
  fields.insert(fields.begin() + (options_.brief ? 2 : 1),
                {fmt::format("step {}/{}", step_in_epoch(), steps_per_epoch_)});
  return joined(fields);
}

std::string Progress::live_line(std::size_t columns) const {
  auto fields = state();
  // The bar takes what the numbers leave.
  constexpr std::size_t kWidest = 12;
  constexpr std::size_t kNarrowest = 4;
  const auto taken = base::display_width(joined(fields)) + 1;
  if (taken + kNarrowest <= columns) {
    const auto of = static_cast<double>(std::max<std::int64_t>(1, steps_per_epoch_));
    fields[options_.brief ? 1 : 0].text +=
        ' ' + progress_bar(static_cast<double>(step_in_epoch()) / of, std::min(kWidest, columns - taken));
  }
  return fitted(std::move(fields), columns);
}

void Progress::draw() {
  // A line that fills the last column makes some terminals go on to the next one.
  const auto columns = std::max<std::size_t>(1, options_.columns()) - 1;
  out_ << kStartOfEmptyLine << live_line(columns) << std::flush;
  line_is_drawn_ = true;
}

void Progress::print(std::string_view line) {
  if (options_.style == ProgressStyle::quiet) return;
  if (line_is_drawn_) out_ << kStartOfEmptyLine;
  line_is_drawn_ = false;
  out_ << line << std::endl;
}

}  // namespace sadam::train
