#include "report/seed_groups.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <sadam/error.h>

#include "base/usage_error.h"
#include "report/recipe_values.h"
#include "train/recipe/source.h"

namespace sadam::report {
namespace {

train::Recipe without_seed(train::Recipe recipe) {
  recipe.seed = 0;
  recipe.title.clear();
  auto& control = recipe.control;
  if (control.kind != "matched" && control.kind != "shuffled") return recipe;
  try {
    train::RecipeSource source;
    source.add_file(train::RunPaths{control.run}.recipe());
    auto controlled = source.resolve();
    // Nobody can control a control, so this goes no deeper.
    controlled.control = {};
    control.run = train::to_toml(without_seed(std::move(controlled)));
    control.brake = 1;
  } catch (const Error&) {
    // The S-Adam run is gone: its name is all that is known, and the run stays by itself.
  }
  return recipe;
}

/// What the names of a group begin with, less what only led up to the seed: "adamw-seed1", "adamw-seed2" →
/// "adamw".
std::string common_name(const std::vector<RunSummary>& runs) {
  std::string_view common = runs.front().name;
  for (const auto& run : runs) {
    const auto end = std::mismatch(common.begin(), common.end(), run.name.begin(), run.name.end()).first;
    common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
  }
  if (runs.size() == 1) return std::string(common);
  constexpr std::string_view separators = "-_./ =";
  const auto trim = [&] { common = common.substr(0, common.find_last_not_of(separators) + 1); };
  // Seeds 41 and 42 begin alike, too.
  const auto digits = common.substr(0, common.find_last_not_of("0123456789") + 1);
  if (!digits.empty() && separators.find(digits.back()) != std::string_view::npos) common = digits;
  trim();
  for (const std::string_view word : {"seed", "s"}) {
    if (common.size() > word.size() && common.substr(common.size() - word.size()) == word &&
        separators.find(common[common.size() - word.size() - 1]) != std::string_view::npos) {
      common.remove_suffix(word.size());
      trim();
    }
  }
  return std::string(common);
}

/// A seed that counts twice makes the deviation smaller than it is.
void check_seeds_differ(const std::vector<RunSummary>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (runs[i].recipe->seed == runs[j].recipe->seed)
        throw UsageError(
            fmt::format("--by-seed: the runs '{}' and '{}' have the same recipe and the same seed, {}, which "
                        "would count twice; leave one of them out.",
                        runs[j].name, runs[i].name, runs[i].recipe->seed));
}

bool all_differ(const std::vector<Entrant>& entrants) {
  std::set<std::string> names;
  for (const auto& entrant : entrants) names.insert(entrant.name);
  return names.size() == entrants.size() && names.count("") == 0;
}

}  // namespace

std::vector<Entrant> single_entrants(std::vector<RunSummary> runs) {
  std::vector<Entrant> entrants;
  for (auto& run : runs) {
    auto& entrant = entrants.emplace_back();
    entrant.name = run.name;
    entrant.runs.push_back(std::move(run));
  }
  return entrants;
}

std::vector<Entrant> group_by_seed(std::vector<RunSummary> runs) {
  std::vector<train::Recipe> keys;
  std::vector<Entrant> groups;
  for (auto& run : runs) {
    auto key = without_seed(run.recipe.value());
    const auto at = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    if (at == keys.size()) {
      keys.push_back(std::move(key));
      groups.emplace_back();
    }
    groups[at].runs.push_back(std::move(run));
  }
  for (auto& group : groups) {
    check_seeds_differ(group.runs);
    group.name = common_name(group.runs);
  }
  if (all_differ(groups)) return groups;
  for (auto& group : groups) group.name = short_optimizer(*group.runs.front().recipe);
  if (all_differ(groups)) return groups;
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].name += fmt::format(" #{}", i + 1);
  return groups;
}

}  // namespace sadam::report
