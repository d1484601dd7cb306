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

/// Seconds a call of `run`, after one that is not counted.
double seconds_of(const std::function<void()>& run, int calls);

using Measurements = std::vector<std::pair<std::string, std::function<double()>>>;

/// The same for variants that measure themselves, such as those that run in another process: each returns its
/// seconds a call.
std::map<std::string, Times> measure_in_turns(const Measurements& measurements, int rounds);

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
