#include "data/fetch/meter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantities.h"

namespace sadam::data {
namespace {

constexpr auto kRemembered = std::chrono::seconds(5);
constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);
constexpr auto kBetweenLines = std::chrono::seconds(1);

}  // namespace

void Meter::show(const std::string& label, std::uint64_t done, std::uint64_t all, Unit unit,
                 Clock::time_point now) {
  const bool fresh = label != label_ || (!samples_.empty() && done < samples_.back().done);
  if (fresh) {
    clear();
    label_ = label;
    samples_.clear();
    drawn_ = now;
    next_ten_ = all > 0 ? done * 10 / all + 1 : 1;
  }
  samples_.push_back({now, done});
  while (samples_.size() > 2 && now - samples_[1].at > kRemembered) samples_.pop_front();

  if (terminal_) {
    if (!fresh && done != all && now - drawn_ < kBetweenDrawings) return;
    drawn_ = now;
    const std::string text = line(done, all, unit);
    // Spaces cover what is left of a longer line.
    out_ << '\r' << text << std::string(width_ > text.size() ? width_ - text.size() : 0, ' ') << std::flush;
    width_ = text.size();
  } else if (all > 0 && done * 10 / all >= next_ten_ && now - drawn_ >= kBetweenLines) {
    drawn_ = now;
    next_ten_ = done * 10 / all + 1;
    out_ << line(done, all, unit) << std::endl;
  }
}

void Meter::clear() {
  if (width_ > 0) out_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
  width_ = 0;
}

double Meter::rate() const {
  const double seconds = std::chrono::duration<double>(samples_.back().at - samples_.front().at).count();
  return seconds > 0 ? static_cast<double>(samples_.back().done - samples_.front().done) / seconds : 0;
}

std::string Meter::line(std::uint64_t done, std::uint64_t all, Unit unit) const {
  const double scale = unit == Unit::bytes ? 1e6 : 1;
  const char* name = unit == Unit::bytes ? " MB" : "";
  const int digits = unit == Unit::bytes ? 1 : 0;
  const double now = static_cast<double>(done) / scale;
  std::string text = label_;
  if (all > 0) {
    const double whole = static_cast<double>(all) / scale;
    text += fmt::format("  {:3.0f} %  {:.{}f} of {:.{}f}{}", std::min(100.0, 100 * now / whole), now, digits,
                        whole, digits, name);
  } else {
    text += fmt::format("  {:.{}f}{}", now, digits, name);
  }
  if (const double speed = rate(); speed > 0) {
    text += fmt::format("  {:.{}f}{}/s", speed / scale, digits, name);
    if (all > done) text += fmt::format("  {} left", base::duration(static_cast<double>(all - done) / speed));
  }
  return text;
}

}  // namespace sadam::data
