// The seeds that each cell of a table is run with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::reproduce {

/// As typed: "1,2,3", "1-3", "1-3,7". Throws a UsageError for what is no such list, a range that ends before
/// it begins, and more than 1000 seeds.
std::vector<std::int64_t> seeds_in(std::string_view text);

/// Throws a UsageError that begins with `where` ("--seeds", "mine.toml:4") for a seed that is negative or
/// there twice.
void check_seeds(const std::vector<std::int64_t>& seeds, const std::string& where);

/// The field of a change to a recipe: "seed" of "seed = 3".
std::string_view field_of(std::string_view assignment);

/// Whether a change is about the seed, which a table has its own place for.
bool sets_seed(std::string_view assignment);

}  // namespace sadam::reproduce
