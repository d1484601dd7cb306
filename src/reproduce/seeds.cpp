// The seeds of a table, as they are typed and as they may be.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/text.h"
#include "base/usage_error.h"
#include "reproduce/table_recipe.h"

namespace sadam::reproduce {
namespace {

std::int64_t seed_in(std::string_view text, std::string_view where) {
  std::int64_t seed = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc::result_out_of_range)
    throw UsageError(
        fmt::format("{}: {} is too large; use at most 9223372036854775807.", where, base::in_quotes(text)));
  if (error != std::errc() || rest != end)
    throw UsageError(fmt::format(
        "{}: {} is no seed; write integers with commas between them, or a range, such as 1,2,3 or 1-3.",
        where, base::in_quotes(text)));
  return seed;
}

constexpr std::size_t kMostSeeds = 1000;

// "7" or "1-3".
void add_seeds_in(std::string_view text, std::string_view where, std::vector<std::int64_t>& seeds) {
  const auto dash = text.find('-', 1);  // one at the front is a sign
  const auto first = seed_in(base::trimmed(text.substr(0, dash)), where);
  const auto last =
      dash == std::string_view::npos ? first : seed_in(base::trimmed(text.substr(dash + 1)), where);
  if (last < first)
    throw UsageError(fmt::format("{}: the range {} ends before it begins; write the smaller seed first.",
                                 where, base::in_quotes(text)));
  // Without their sign the difference of any two fits.
  const auto more = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  if (more >= kMostSeeds - seeds.size())
    throw UsageError(
        fmt::format("{}: these are more than {} seeds; ask for fewer at a time.", where, kMostSeeds));
  for (std::uint64_t i = 0; i <= more; ++i) seeds.push_back(first + static_cast<std::int64_t>(i));
}

}  // namespace

std::vector<std::int64_t> seeds_in(std::string_view text, std::string_view where) {
  std::vector<std::int64_t> seeds;
  for (;;) {
    const auto comma = text.find(',');
    add_seeds_in(base::trimmed(text.substr(0, comma)), where, seeds);
    if (comma == std::string_view::npos) return seeds;
    text.remove_prefix(comma + 1);
  }
}

void check_seeds(const std::vector<std::int64_t>& seeds, const std::string& where) {
  for (auto seed = seeds.begin(); seed != seeds.end(); ++seed) {
    if (*seed < 0) throw UsageError(fmt::format("{}: seed {} is negative; use 0 or more.", where, *seed));
    if (std::find(seeds.begin(), seed, *seed) != seed)
      throw UsageError(fmt::format("{}: seed {} is given twice, and would be counted as two; leave one out.",
                                   where, *seed));
  }
}

std::string_view field_of(std::string_view assignment) {
  return base::trimmed(assignment.substr(0, assignment.find('=')));
}

bool sets_seed(std::string_view assignment) { return field_of(assignment) == "seed"; }

}  // namespace sadam::reproduce
