// Tables on standard output, in Markdown, with a budget and a verdict beside each number that has one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "turns.h"

namespace sadam::bench {

/// What a measured ratio has to stay below, or reach.
struct Budget {
  enum class Side { at_most, at_least };
  Side side = Side::at_most;
  double limit = 0;
};
inline Budget at_most(double limit) { return {Budget::Side::at_most, limit}; }
inline Budget at_least(double limit) { return {Budget::Side::at_least, limit}; }

class Report {
 public:
  void begin(const std::string& title, const std::vector<std::string>& columns);
  void row(const std::vector<std::string>& cells);
  /// Prints the table that was begun.
  void end();

  /// "≤ 3.5 ok", "≥ 5 over", or "" where there is no budget; counts those that are over.
  std::string verdict(double value, const std::optional<Budget>& budget, const char* unit = "");

  int judged() const { return judged_; }
  int over() const { return over_; }

 private:
  std::vector<std::vector<std::string>> rows_;
  int judged_ = 0;
  int over_ = 0;
};

/// A number with so many digits after the point.
std::string fixed(double value, int digits);
/// The median of seconds, in milliseconds.
std::string milliseconds(const Times& seconds);
/// "6.31 (6.02–6.77)": the median and the quartiles.
std::string with_quartiles(const Spread& spread, int digits);
/// "11.2 M".
std::string millions(double count);

}  // namespace sadam::bench
