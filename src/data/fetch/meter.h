// Shows how far something long is: one moving line on a terminal, a line every ten percent (and second)
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <ostream>
#include <string>

namespace sadam::data {

class Meter {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Unit { bytes, items };

  Meter(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}
  ~Meter() { clear(); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// `label` names what is done; another label starts anew. `all` = 0: not known.
  void show(const std::string& label, std::uint64_t done, std::uint64_t all, Unit unit = Unit::bytes,
            Clock::time_point now = Clock::now());

  /// Takes the moving line away, so that something else can be printed.
  void clear();

 private:
  struct Sample {
    Clock::time_point at;
    std::uint64_t done;
  };

  double rate() const;
  std::string line(std::uint64_t done, std::uint64_t all, Unit unit) const;

  std::ostream& out_;
  bool terminal_;
  std::string label_;
  std::deque<Sample> samples_;  // of the last seconds, the oldest first
  Clock::time_point drawn_;
  std::size_t width_ = 0;       // of the moving line, 0: there is none
  std::uint64_t next_ten_ = 1;  // the next ten percent to announce
};

}  // namespace sadam::data
