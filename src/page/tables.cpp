// Tables as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/statistics.h"
#include "page/shelf.h"
#include "report/comparison.h"
#include "reproduce/plan.h"
#include "reproduce/render.h"
#include "reproduce/results.h"
#include "reproduce/table_recipe.h"

namespace sadam::page {
namespace {

using report::RunSummary;
using reproduce::Control;
using reproduce::Group;
using reproduce::Plan;

// "sadam-k2", "sadam-k2.matched", "adamw.cosine": as the folders are named.
std::string row_key(const reproduce::TableRecipe& table, const Group& group) {
  const auto& key = key_of(table, group);
  return group.control == Control::none ? key : fmt::format("{}.{}", key, name_of(group.control));
}

Json mean_json(const std::vector<double>& values) {
  return values.empty() ? Json() : number_or_null(base::mean(values));
}

Json difference_json(const Group& group, const Group* other) {
  if (other == nullptr) return {};
  const auto pairs = report::seeds_and_differences(group.runs, other->runs, &RunSummary::last_accuracy);
  if (pairs.empty()) return {};
  std::vector<double> values;
  auto list = Json::array();
  for (const auto& [seed, points] : pairs) {
    values.push_back(points);
    list.push_back({{"seed", seed}, {"difference", points}});
  }
  return {{"mean", base::mean(values)},
          {"half_width", number_or_null(base::half_interval(values))},
          {"pairs", list}};
}

// One table, as JSON.
class TableWriter {
 public:
  TableWriter(const Plan& plan, const std::map<std::filesystem::path, std::string>& ids)
      : plan_(plan), ids_(ids), read_(read_groups(plan)), shown_(with_means(plan.table, read_.groups)) {}

  Json write(const std::string& key) {
    const auto& table = shown_.table;
    auto columns = Json::array();
    for (const auto& column : table.columns)
      columns.push_back({{"key", column.key}, {"title", column.title}});
    auto rows = Json::array();
    for (const auto& group : rows_of_table()) rows.push_back(row(group));
    return {{"key", key},
            {"title", table.title},
            {"baseline", table.baseline.empty() ? Json() : Json(table.baseline)},
            {"columns", columns},
            {"rows", rows},
            {"notes", notes()}};
  }

  bool is_empty() const { return read_.groups.empty(); }

 private:
  // One group of each row, in the order in which they stand below each other.
  std::vector<Group> rows_of_table() const {
    std::map<std::pair<std::size_t, Control>, Group> rows;
    for (const auto& group : shown_.groups)
      rows.try_emplace({group.row, group.control}, Group{0, group.row, group.control, {}});
    std::vector<Group> list;
    for (auto& [place, group] : rows) list.push_back(std::move(group));
    return list;
  }

  const Group* find(std::size_t column, std::size_t row, Control control) const {
    for (const auto& group : shown_.groups)
      if (group.column == column && group.row == row && group.control == control) return &group;
    return nullptr;
  }

  // What a row's `less_baseline` is counted from; nothing for controls and for a baseline itself.
  const reproduce::TableRow* baseline_of(const Group& of) const {
    if (of.control != Control::none) return nullptr;
    const auto& rows = shown_.table.rows;
    const auto baseline =
        std::ranges::find(rows, shown_.table.baseline_of(rows[of.row]), &reproduce::TableRow::key);
    return baseline == rows.end() || &*baseline == &rows[of.row] ? nullptr : &*baseline;
  }

  const Group* baseline_for(const Group& group) const {
    const auto* const row = baseline_of(group);
    if (row == nullptr) return nullptr;
    return find(group.column, static_cast<std::size_t>(row - shown_.table.rows.data()), Control::none);
  }

  Json row(const Group& of) {
    auto cells = Json::array();
    for (std::size_t column = 0; column < shown_.table.columns.size(); ++column) {
      const auto* const group = find(column, of.row, of.control);
      cells.push_back(group == nullptr ? Json() : cell(*group));
    }
    const auto& table = shown_.table;
    const auto* const baseline = baseline_of(of);
    return {{"key", row_key(table, of)},
            {"title", full_title_of(table, of)},
            {"control_of", is_of_a_row(of.control) ? Json(table.rows[of.row].key) : Json()},
            {"baseline", baseline == nullptr ? Json() : Json(baseline->key)},
            {"cells", cells}};
  }

  Json cell(const Group& group) {
    const auto result =
        result_of(shown_.table, group, convergence_target(shown_.table, shown_.groups, group.column));
    const auto less = [&](const Group* other) {
      return group.control == Control::none ? difference_json(group, other) : Json();
    };
    auto less_baseline = less(baseline_for(group));
    auto less_control = less(find(group.column, group.row, Control::matched));
    auto less_shuffled = less(find(group.column, group.row, Control::shuffled));
    auto less_replayed = less(find(group.column, group.row, Control::replayed));
    auto less_cosine = less(find(group.column, shown_.table.rows.size(), Control::cosine));
    for (const auto* difference :
         {&less_baseline, &less_control, &less_shuffled, &less_replayed, &less_cosine})
      if (!difference->is_null() && !(*difference)["half_width"].is_null()) ++comparisons_;
    const auto finished = std::count_if(group.runs.begin(), group.runs.end(), [](const RunSummary& run) {
      return run.state == report::RunState::finished;
    });
    auto runs = Json::array();
    for (const auto& run : group.runs)
      if (const auto id = ids_.find(run.folder); id != ids_.end()) runs.push_back(id->second);
    return {{"paper", number_or_null(result.paper_best)},
            {"seeds", finished},
            {"mean", mean_json(result.best)},
            {"deviation", number_or_null(base::deviation(result.best))},
            {"last_mean", mean_json(result.last)},
            {"last_deviation", number_or_null(base::deviation(result.last))},
            {"less_paper", result.paper_best && !result.best.empty()
                               ? number_or_null(base::mean(result.best) - *result.paper_best)
                               : Json()},
            {"less_baseline", std::move(less_baseline)},
            {"less_control", std::move(less_control)},
            {"less_shuffled", std::move(less_shuffled)},
            {"less_replayed", std::move(less_replayed)},
            {"less_cosine", std::move(less_cosine)},
            {"seconds", mean_json(result.convergence_seconds)},
            {"paper_seconds", number_or_null(result.paper_seconds)},
            {"mean_brake", mean_json(result.brake)},
            {"runs", runs}};
  }

  // After the rows, whose comparisons are counted.
  Json notes() const {
    auto list = Json::array();
    const auto add = [&](const std::string& sentence) {
      if (!sentence.empty()) list.push_back(sentence);
    };
    add(convergence_note());
    add(controls_note(read_.groups));
    add(reproduce::comparisons_note(comparisons_));
    add(unfinished_note());
    for (const auto& sentence : read_.irregularities()) add(sentence);
    for (const auto& problem : read_.problems) add(problem);
    for (const auto& difference : plan_.differences) add(difference);
    return list;
  }

  std::string convergence_note() const {
    for (const auto& row : plan_.table.rows)
      if (row.key == plan_.table.baseline)
        return fmt::format(
            "Converged: training time, evaluation left out, until the test accuracy first reaches 95 % of "
            "{}'s "
            "best, mean over the seeds that do.",
            row.title);
    return "";
  }

  std::string unfinished_note() const {
    std::size_t count = 0;
    for (const auto& group : read_.groups)
      for (const auto& run : group.runs) count += run.state == report::RunState::finished ? 0 : 1;
    if (count == 0) return "";
    return fmt::format("{} {} not finished: means are of what there is so far.", base::counted(count, "run"),
                       count == 1 ? "is" : "are");
  }

  const Plan& plan_;
  const std::map<std::filesystem::path, std::string>& ids_;
  reproduce::Groups read_;
  reproduce::Shown shown_;  ///< with the table's means
  std::size_t comparisons_ = 0;
};

}  // namespace

Tables tables_of(const std::vector<const LiveRun*>& runs) {
  Tables result;
  std::vector<const RunSummary*> summaries;
  for (const auto* run : runs) summaries.push_back(&run->summary());
  std::set<std::string> keys;
  for (const auto& found : reproduce::found_tables(summaries)) {
    const auto& plan = found.plan;
    std::map<std::filesystem::path, std::string> ids;
    std::vector<RunSummary> its_runs;
    for (const auto i : found.runs) {
      auto summary = as_planned(*summaries[i], found);
      const auto& id = runs[i]->id();
      ids[summary.folder] = id;
      const auto planned = std::find_if(plan.runs.begin(), plan.runs.end(),
                                        [&](const auto& each) { return each.folder == summary.folder; });
      if (planned != plan.runs.end()) {
        const Group place{planned->column, planned->row, planned->control, {}};
        auto& in_table = result.runs[id];
        in_table.title = full_title_of(plan.table, place);
        if (plan.of_the_paper) {
          in_table.differs = plan.differences;
          for (auto& sentence : differences_from_plan(summary, *planned))
            in_table.differs.push_back(std::move(sentence));
        }
      }
      its_runs.push_back(std::move(summary));
    }
    try {
      const auto recorded = with_recorded(plan, std::move(its_runs), found.request.root);
      TableWriter writer(recorded, ids);
      if (writer.is_empty()) continue;
      auto key = plan.name;
      for (int number = 2; !keys.insert(key).second; ++number) key = fmt::format("{}#{}", plan.name, number);
      result.tables.push_back(writer.write(key));
    } catch (const Error&) {
      // None of the runs is one of the table's.
    }
  }
  return result;
}

}  // namespace sadam::page
