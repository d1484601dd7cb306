// Variants timed in turns: machines change their speed within seconds, so only times of one round compare.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sadam::bench {

/// Seconds a call, one entry for each round.
using Times = std::vector<double>;

using Variants = std::vector<std::pair<std::string, std::function<void()>>>;

/// Times every variant in every round, each time after one call that is not counted. The order rotates from
/// round to round, so that none always follows the same one. `calls` are counted at a time: several where one
/// would be too short for the clock.
std::map<std::string, Times> time_in_turns(const Variants& variants, int rounds, int calls);

/// The middle of a sample, and the two quartiles around it.
struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};
Spread spread_of(std::vector<double> values);

/// Of a/b, round by round.
Spread ratio(const Times& a, const Times& b);

}  // namespace sadam::bench
