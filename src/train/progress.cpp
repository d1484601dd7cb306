#include "train/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/quantities.h"
#include "base/statistics.h"
#include "base/text.h"

namespace sadam::train {
namespace {

constexpr std::size_t kWindow = 50;
constexpr double kSecondsBetweenRedraws = 0.1;
constexpr double kSecondsBetweenPlainLines = 30;

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

std::ostream& nobody() {
  static std::ostream stream(nullptr);
  return stream;
}

}  // namespace

/// In their order, with two spaces between them.
std::size_t Progress::width_of(const std::vector<LineField>& fields) {
  std::size_t width = fields.empty() ? 0 : 2 * (fields.size() - 1);
  for (const auto& field : fields) width += base::display_width(field.text);
  return width;
}

/// As many of them, the most important ones, as fit into so many columns: whole fields go where there is
/// little room, and no number is cut in two.
std::string Progress::fitted(std::vector<LineField> fields, std::size_t columns) const {
  while (width_of(fields) > columns)
    fields.erase(std::min_element(fields.begin(), fields.end(),
                                  [](const auto& a, const auto& b) { return a.importance < b.importance; }));
  std::string line;
  for (const auto& field : fields)
    line += (line.empty() ? "" : "  ") + base::painted(field.text, field.tone, options_.colour);
  return line;
}

ProgressStyle progress_style(std::FILE* stream) {
  return base::is_live(stream) ? ProgressStyle::live : ProgressStyle::plain;
}

ProgressOptions progress_on_stderr(bool quiet, bool brief) {
  return {.style = quiet ? ProgressStyle::quiet : progress_style(stderr),
          .colour = base::has_colour(stderr),
          .brief = brief};
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress(std::ostream& out, ProgressOptions options) : out_(out), options_(std::move(options)) {}

Progress::Progress() : Progress(nobody(), {.style = ProgressStyle::quiet}) {}

Progress::~Progress() {
  try {
    finish();
  } catch (const std::exception&) {
    // A stream that throws cannot be written to any more; there is nobody left to tell.
  }
}

void Progress::start(std::string_view name, const RunShape& shape) {
  name_ = base::printable(name);
  shape_ = shape;
  epoch_ = 0;
  step_ = shape.steps_done;
  evaluate_seconds_.reset();
  evaluated_.reset();
  recent_.clear();
  last_shown_ = options_.clock();
  if (options_.brief) return;
  auto line =
      fmt::format("{}: {} of {}", name_, base::counted(static_cast<std::uint64_t>(shape.epochs), "epoch"),
                  base::counted(static_cast<std::uint64_t>(shape.steps_per_epoch), "step"));
  if (shape.pixels > 0)
    line += fmt::format(", images {1} {0}×{0}", shape.pixels, shape.scaled ? "scaled to" : "of");
  if (shape.steps_done > 0) line += fmt::format(", going on after step {}", shape.steps_done);
  print(line);
}

bool Progress::is_due() const {
  const bool live = options_.style == ProgressStyle::live;
  if (live && !line_is_drawn_) return true;
  return options_.clock() - last_shown_ >= (live ? kSecondsBetweenRedraws : kSecondsBetweenPlainLines);
}

void Progress::show_state() {
  last_shown_ = options_.clock();
  if (options_.style != ProgressStyle::live) return print(plain_line());
  // A line that fills the last column makes some terminals go on to the next one.
  const auto columns = std::max<std::size_t>(1, options_.columns()) - 1;
  out_ << base::kClearBelow << live_line(columns) << base::kBackToStart << std::flush;
  line_is_drawn_ = true;
}

void Progress::step(const StepEvent& event, double train_seconds) {
  if (options_.style == ProgressStyle::quiet) return;
  epoch_ = event.epoch;
  step_ = event.step;
  recent_.push_back({event, train_seconds});
  if (recent_.size() > kWindow) recent_.pop_front();
  if (is_due()) show_state();
}

void Progress::evaluating(std::int64_t done, std::int64_t batches) {
  if (options_.style == ProgressStyle::quiet || batches < 1) return;
  if (done == 0) evaluation_began_ = options_.clock();
  evaluated_ = static_cast<double>(done) / static_cast<double>(batches);
  if (is_due() || (done == 0 && options_.style == ProgressStyle::live)) show_state();
}

void Progress::epoch(const EpochEvent& event, const StepCounts& counts) {
  epoch_ = event.epoch;
  step_ = event.step;
  evaluated_.reset();
  if (event.epoch > 0) evaluate_seconds_ = event.evaluate_seconds / static_cast<double>(event.epoch);
  if (options_.brief) return;
  using base::Tone;
  std::vector<LineField> fields = {
      {epoch_of(event.epoch, shape_.epochs), 9},
      {fmt::format("test {:5.2f} %", 100 * event.test_accuracy), 8, Tone::strong},
      {fmt::format("loss {}", base::decimal(event.test_loss, 4)), 4},
      {fmt::format("train {}", base::decimal(event.train_loss, 4)), 3}};
  // Both are constant where nothing probes and nothing brakes, and only take up room.
  if (event.mean_lgi != 0) fields.push_back({fmt::format("ρ {}", base::decimal(event.mean_lgi, 3)), 1});
  if (event.mean_lgi != 0 || event.mean_brake != 1)
    fields.push_back({fmt::format("brake {}", base::decimal(event.mean_brake, 3)), 2});
  fields.push_back({base::duration(event.train_seconds), 5});
  if (counts.skipped > 0)
    fields.push_back({fmt::format("skipped {}/{}", counts.skipped, counts.steps), 7, Tone::notice});
  if (counts.non_finite_probes > 0)
    fields.push_back({fmt::format("bad probes {}", counts.non_finite_probes), 6, Tone::notice});
  if (counts.within_noise > 0)
    fields.push_back({fmt::format("ρ is noise {}/{}", counts.within_noise, counts.probed), 6, Tone::notice});
  print(fitted(std::move(fields), options_.columns()));
  last_shown_ = options_.clock();
}

void Progress::note(std::string_view text) { print(base::printable(text)); }

void Progress::warn(std::string_view text) {
  finish();  // takes the live line away
  out_ << base::painted(base::printable(text), base::Tone::notice, options_.colour) << std::endl;
}

void Progress::finish() {
  if (line_is_drawn_) out_ << base::kClearBelow << std::flush;
  line_is_drawn_ = false;
}

// Over the recent steps: one that was skipped has no finite loss, and one that did not probe has no ρ.
double Progress::mean_of(double StepEvent::*field) const {
  std::vector<double> values;
  for (const auto& [step, train_seconds] : recent_)
    if (std::isfinite(step.*field) && (step.probed || field != &StepEvent::lgi))
      values.push_back(step.*field);
  return base::mean(values);
}

double Progress::seconds_per_step() const {
  if (recent_.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto& last = recent_.back();
  if (recent_.size() == 1) return last.train_seconds / static_cast<double>(step_);
  return (last.train_seconds - recent_.front().train_seconds) / static_cast<double>(recent_.size() - 1);
}

double Progress::seconds_left() const {
  const auto steps = std::max<std::int64_t>(0, shape_.epochs * shape_.steps_per_epoch - step_);
  const auto evaluations = static_cast<double>(std::max<std::int64_t>(0, shape_.epochs - epoch_ + 1));
  // Measured, or measured so far, or guessed.
  double evaluation = shape_.steps_per_evaluation * seconds_per_step();
  if (evaluated_ && *evaluated_ != 0) evaluation = (options_.clock() - evaluation_began_) / *evaluated_;
  evaluation = evaluate_seconds_.value_or(evaluation);
  return static_cast<double>(steps) * seconds_per_step() +
         (evaluations - evaluated_.value_or(0)) * evaluation;
}

std::vector<Progress::LineField> Progress::state() const {
  StepCounts counts;
  bool brakes = false;
  for (const auto& [step, train_seconds] : recent_) {
    counts.add(step);
    brakes = brakes || step.brake != 1;
  }
  std::vector<LineField> fields = {
      {epoch_of(epoch_, shape_.epochs), 7},
      evaluated_ ? LineField{fmt::format("evaluating {:.0f} %", std::floor(100 * *evaluated_)), 6}
                 : LineField{step_rate(seconds_per_step()), 1},
      {fmt::format("ETA {}", base::duration(seconds_left())), 4},
      {fmt::format("loss {}", base::decimal(mean_of(&StepEvent::loss), 4)), 5}};
  if (options_.brief) fields.insert(fields.begin(), {name_.substr(name_.rfind('/') + 1), 8});
  if (counts.skipped > 0)
    fields.push_back({fmt::format("skipped {}/{}", counts.skipped, counts.steps), 5, base::Tone::notice});
  // Both are constant where nothing probes and nothing brakes.
  if (counts.probed > 0)
    fields.push_back({fmt::format("ρ {}", base::decimal(mean_of(&StepEvent::lgi), 3)), 2});
  if (counts.probed > 0 || brakes)
    fields.push_back({fmt::format("brake {}", base::decimal(mean_of(&StepEvent::brake), 3)), 3});
  return fields;
}

std::int64_t Progress::step_in_epoch() const { return step_ - (epoch_ - 1) * shape_.steps_per_epoch; }

std::string Progress::plain_line() const {
  auto fields = state();
  if (!evaluated_)
    fields.insert(fields.begin() + (options_.brief ? 2 : 1),
                  {fmt::format("step {}/{}", step_in_epoch(), shape_.steps_per_epoch), 6});
  return fitted(std::move(fields), options_.columns());
}

std::string Progress::live_line(std::size_t columns) const {
  auto fields = state();
  // The bar takes what the numbers leave.
  constexpr std::size_t kWidest = 12;
  constexpr std::size_t kNarrowest = 4;
  const auto taken = width_of(fields) + 1;
  if (taken + kNarrowest <= columns) {
    const auto of = static_cast<double>(std::max<std::int64_t>(1, shape_.steps_per_epoch));
    fields[options_.brief ? 1 : 0].text +=
        ' ' + progress_bar(static_cast<double>(step_in_epoch()) / of, std::min(kWidest, columns - taken));
  }
  return fitted(std::move(fields), columns);
}

void Progress::print(std::string_view line) {
  if (options_.style == ProgressStyle::quiet) return;
  if (line_is_drawn_) out_ << base::kClearBelow;
  line_is_drawn_ = false;
  out_ << line << std::endl;
}

}  // namespace sadam::train
