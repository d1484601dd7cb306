#include "reproduce/groups.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "report/run_summary.h"

namespace sadam::reproduce {
namespace {

auto place_of(const Group& group) { return std::tuple(group.column, group.row, group.control); }

}  // namespace

std::vector<std::string> Groups::irregularities() const {
  std::vector<const report::RunSummary*> runs;
  for (const auto& group : groups)
    for (const auto& run : group.runs) runs.push_back(&run);
  return report::irregularities(runs);
}

Groups read_groups(const Plan& plan) {
  Groups result;
  auto& groups = result.groups;
  for (const auto& run : plan.runs) {
    const train::RunPaths paths{run.folder};
    if (!std::filesystem::exists(paths.recipe())) continue;
    auto summary = report::summarise(paths, run.label(plan.table));
    if (!summary.problem.empty()) result.problems.push_back(summary.problem);
    if (summary.epochs.empty()) continue;
    const Group wanted{run.column, run.row, run.control, {}};
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& other) { return place_of(other) == place_of(wanted); });
    if (group == groups.end()) group = groups.insert(group, wanted);
    group->runs.push_back(std::move(summary));
  }
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return place_of(a) < place_of(b); });
  return result;
}

const std::string& key_of(const TableRecipe& table, const Group& group) {
  static const std::string adamw = "adamw";
  return group.row < table.rows.size() ? table.rows[group.row].key : adamw;
}

}  // namespace sadam::reproduce
