#include "reproduce/seeds.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/quote.h"
#include "base/usage_error.h"

namespace sadam::reproduce {
namespace {

std::string_view without_spaces(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::int64_t seed_in(std::string_view text) {
  std::int64_t seed = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc::result_out_of_range)
    throw UsageError("--seeds: " + base::in_quotes(text) + " is too large; use at most 9223372036854775807.");
  if (error != std::errc() || rest != end)
    throw UsageError("--seeds: " + base::in_quotes(text) +
                     " is no seed; write integers with commas between them, such as 1,2,3.");
  return seed;
}

}  // namespace

std::vector<std::int64_t> seeds_in(std::string_view text) {
  std::vector<std::int64_t> seeds;
  for (;;) {
    const auto comma = text.find(',');
    seeds.push_back(seed_in(without_spaces(text.substr(0, comma))));
    if (comma == std::string_view::npos) return seeds;
    text.remove_prefix(comma + 1);
  }
}

void check_seeds(const std::vector<std::int64_t>& seeds, const std::string& where) {
  for (auto seed = seeds.begin(); seed != seeds.end(); ++seed) {
    if (*seed < 0)
      throw UsageError(where + ": seed " + std::to_string(*seed) + " is negative; use 0 or more.");
    if (std::find(seeds.begin(), seed, *seed) != seed)
      throw UsageError(where + ": seed " + std::to_string(*seed) +
                       " is given twice, and would be counted as two; leave one out.");
  }
}

bool sets_seed(std::string_view assignment) {
  return without_spaces(assignment.substr(0, assignment.find('='))) == "seed";
}

}  // namespace sadam::reproduce
