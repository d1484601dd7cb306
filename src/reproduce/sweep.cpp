#include "reproduce/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <variant>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "train/recipe/short_name.h"
#include "train/recipe/source.h"
#include "train/recipe/toml.h"

namespace sadam::reproduce {
namespace {

using train::FieldRow;

constexpr const char* kTable = "sweep";

// A value as TOML; nothing for what no field can have.
std::optional<std::string> value_text(const toml::node& node) {
  auto value = train::value_of(node);
  return std::visit(
      []<class Held>(Held& held) -> std::optional<std::string> {
        if constexpr (std::is_same_v<Held, train::OtherValue>)
          return std::nullopt;
        else
          return train::to_toml(train::Slot(&held));
      },
      value);
}

bool is_seed(const FieldRow& row) { return row.table.empty() && row.key == "seed"; }

SweptField seeds_field(std::string_view text, const std::string& where) {
  SweptField field{"seed", {}};
  const auto seeds = seeds_in(text, where);
  check_seeds(seeds, where);
  for (const auto seed : seeds) field.values.push_back({fmt::format("seed={}", seed), where});
  return field;
}

SweptField listed_field(const std::string& name, const toml::node& node, const std::string& where) {
  SweptField field{name, {}};
  const auto add = [&](const toml::node& each) {
    const auto text = value_text(each);
    if (!text)
      throw UsageError(
          fmt::format("{}: {} has a value in its list that no field can have; write numbers, "
                      "text in quotes, or true and false.",
                      where, name));
    field.values.push_back({fmt::format("{}={}", name, *text), where});
  };
  const auto* const array = node.as_array();
  if (array == nullptr)
    add(node);
  else
    for (const auto& each : *array) add(each);
  if (field.values.empty())
    throw UsageError(fmt::format("{}: the list of {} is empty; write at least one value.", where, name));
  return field;
}

// ---- the file's [sweep] -----------------------------------------------------------------------------------

std::vector<SweptField> fields_of_text(const std::string& text, const std::string& file) {
  const auto root = train::parse_toml(text, file);
  const auto* const found = root.get(kTable);
  if (found == nullptr) return {};
  const auto place = [&](const toml::node& node) {
    return fmt::format("{}:{}", file, node.source().begin.line);
  };
  const auto* const table = found->as_table();
  if (table == nullptr)
    throw UsageError(
        fmt::format("{}: [sweep] is a table of fields and their values, such as "
                    "optimizer.lr = [1e-4, 1e-3].",
                    place(*found)));
  // Tables of toml++ are in alphabetical order, and the order of the text counts.
  std::multimap<toml::source_position, SweptField> fields;
  const auto add = [&](const std::string& name, const toml::node& node) {
    const auto where = place(node);
    train::checked_row(train::entry_about(name, where));  // refuses what is no field
    const auto* const range = node.as_string();
    fields.emplace(node.source().begin, name == "seed" && range != nullptr ? seeds_field(range->get(), where)
                                                                           : listed_field(name, node, where));
  };
  for (const auto& [key, node] : *table) {
    const auto* const inner = node.as_table();  // optimizer.lr = …, without quotes
    if (inner == nullptr)
      add(std::string(key.str()), node);
    else
      for (const auto& [last, value] : *inner) add(fmt::format("{}.{}", key.str(), last.str()), value);
  }
  std::vector<SweptField> result;
  for (auto& [position, field] : fields) result.push_back(std::move(field));
  return result;
}

// ---- the command line -------------------------------------------------------------------------------------

// Whether a comma in a value of this field ends it. Those in a title and in a path belong to it.
bool commas_separate(const FieldRow& row, std::string_view value) {
  const auto* const text = std::get_if<train::AnyText>(&row.allowed);
  return (text == nullptr || text->commas_separate) && value.find("folder:") == std::string_view::npos;
}

std::optional<SweptField> field_in_brackets(const std::string& name, std::string_view value,
                                            const std::string& where) {
  try {
    const auto parsed = train::parse_toml(fmt::format("value = {}", value), "");
    const auto* const node = parsed.get("value");
    if (node == nullptr || node->as_array() == nullptr) return std::nullopt;
    return listed_field(name, *node, where);
  } catch (const UsageError&) {
    return std::nullopt;  // text without quotes, which the recipe judges
  }
}

std::string_view value_of_set(std::string_view assignment) {
  const auto equals = assignment.find('=');
  return equals == std::string_view::npos ? "" : base::trimmed(assignment.substr(equals + 1));
}

// Several values of one field; nothing if it is one.
std::optional<SweptField> field_of_set(const FieldRow& row, std::string_view value) {
  const auto name = row.name();
  const auto where = fmt::format("--set {}", name);
  if (name == "title" || value.starts_with('"') || value.starts_with('\'')) return std::nullopt;
  if (value.starts_with('[')) return field_in_brackets(name, value, where);
  if (!commas_separate(row, value)) return std::nullopt;
  const bool is_range = is_seed(row) && value.find('-', 1) != std::string_view::npos;
  if (value.find(',') == std::string_view::npos && !is_range) return std::nullopt;
  if (is_seed(row)) return seeds_field(value, where);
  SweptField field{name, {}};
  for (auto rest = value;;) {
    const auto comma = rest.find(',');
    const auto one = base::trimmed(rest.substr(0, comma));
    if (one.empty())
      throw UsageError(
          fmt::format("{}: there is nothing between two commas, or at an end, of {}; write a "
                      "value, or take the comma out.",
                      where, base::in_quotes(value)));
    field.values.push_back({fmt::format("{}={}", name, one), where});
    if (comma == std::string_view::npos) return field;
    rest.remove_prefix(comma + 1);
  }
}

// ---- the plan ---------------------------------------------------------------------------------------------

// A run of the grid in the making.
struct Combination {
  std::shared_ptr<train::RecipeSource> source;
  std::vector<std::string> assignments;  ///< for messages
};

std::vector<Combination> combinations(const SweepRequest& request, const std::vector<SweptField>& fields) {
  std::size_t count = 1;
  for (const auto& field : fields) {
    count *= field.values.size();
    if (count > kMostRuns)
      throw UsageError(
          fmt::format("these are more than {} runs; give fewer values, or sweep the fields one "
                      "after the other.",
                      kMostRuns));
  }
  Combination base{std::make_shared<train::RecipeSource>(), {}};
  base.source->ignore(kTable);
  if (!request.file.empty()) base.source->add_text(request.text, request.file);
  for (const auto& assignment : request.sets) {
    const auto* const row = train::find_row(field_of(assignment));
    // Lists are in `fields`, unless a later assignment replaced them.
    if (row == nullptr || !field_of_set(*row, value_of_set(assignment))) base.source->set(assignment);
  }
  std::vector<Combination> all = {base};
  for (const auto& field : fields) {
    std::vector<Combination> more;
    for (const auto& before : all) {
      for (const auto& [text, where] : field.values) {
        auto next = before;
        next.source = std::make_shared<train::RecipeSource>(*before.source);
        next.source->set(text, where);
        next.assignments.push_back(text);
        more.push_back(std::move(next));
      }
    }
    all = std::move(more);
  }
  return all;
}

// Where a value was made safe for a file name, two of them may have become one.
void make_distinct(std::vector<PlannedRun>& runs) {
  std::map<std::filesystem::path, std::size_t> times;
  for (const auto& run : runs) ++times[run.folder];
  for (auto& run : runs) {
    if (times[run.folder] == 1) continue;
    const auto text = to_toml(run.recipe);
    run.folder += fmt::format("-{:08x}", base::crc32(std::as_bytes(std::span(text))));
  }
}

// Adds a run, and the row of its seeds where it is the first.
void add_run(Plan& plan, PlannedRun run, const std::string& row_key) {
  auto& rows = plan.table.rows;
  const auto found = std::ranges::find(rows, row_key, &TableRow::key);
  run.row = static_cast<std::size_t>(found - rows.begin());
  if (found == rows.end()) {
    auto& row = rows.emplace_back();
    row.key = row_key;
    row.title = row_key;
  }
  plan.runs.push_back(std::move(run));
}

std::string grid_name(const SweepRequest& request, const train::Recipe& recipe,
                      const std::vector<SweptField>& fields) {
  if (!request.name.empty()) return request.name;
  const auto base = train::named_recipe(request.file, request.text);
  std::vector<std::string> names;
  std::vector<std::string> keys;
  for (const auto& field : fields) {
    const auto& row = *train::find_row(field.field);
    names.push_back(row.name());
    keys.push_back(short_key(row));
  }
  return train::bounded_name(fmt::format(
      "{}-by-{}", train::short_name(recipe, base ? &*base : nullptr, names), fmt::join(keys, "-")));
}

}  // namespace

std::vector<SweptField> swept_fields(const SweepRequest& request) {
  auto fields = fields_of_text(request.text, request.file);
  for (const auto& assignment : request.sets) {
    const auto* const row = train::find_row(field_of(assignment));
    if (row == nullptr) continue;  // the recipe refuses it
    std::erase_if(fields, [&](const SweptField& field) { return train::find_row(field.field) == row; });
    if (auto field = field_of_set(*row, value_of_set(assignment))) fields.push_back(std::move(*field));
  }
  return fields;
}

Plan plan_sweep(const SweepRequest& request, const std::vector<SweptField>& fields) {
  Plan plan;
  std::set<std::string> known;
  for (const auto& combination : combinations(request, fields)) {
    PlannedRun run;
    run.recipe = resolved(*combination.source, request.file,
                          fmt::format("{}", fmt::join(combination.assignments, ", ")));
    run.source = combination.source;
    run.seed = run.recipe.seed;
    if (plan.name.empty()) plan.name = grid_name(request, run.recipe, fields);
    std::string values;  // whatever of the grid decides something here
    std::vector<std::string> parts;
    std::vector<std::string> without_seed;
    bool all_apply = true;
    for (const auto& field : fields) {
      const auto& row = *train::find_row(field.field);
      all_apply = all_apply && row.applies_to(run.recipe);
      if (!row.applies_to(run.recipe)) continue;
      auto recipe = run.recipe;  // the table hands out places to write to
      values += fmt::format("{} = {}\n", row.name(), train::to_toml(row.slot(recipe)));
      parts.push_back(short_text(row, run.recipe));
      if (!is_seed(row)) without_seed.push_back(parts.back());
    }
    if (parts.empty())
      throw UsageError(
          fmt::format("{}: this decides nothing for such a run, so that there is no grid; leave it "
                      "out.",
                      fmt::join(combination.assignments, ", ")));
    if (!known.insert(values).second) {
      if (!all_apply) continue;
      throw UsageError(fmt::format("{}: this run is asked for twice; leave one of the values out.",
                                   fmt::join(combination.assignments, ", ")));
    }
    run.folder = request.root / plan.name / train::bounded_name(fmt::format("{}", fmt::join(parts, "-")));
    add_run(plan, std::move(run),
            without_seed.empty() ? plan.name : fmt::format("{}", fmt::join(without_seed, "-")));
  }
  make_distinct(plan.runs);
  plan.table.name = plan.name;
  plan.table.title = plan.name;
  plan.table.origin = request.file.empty() ? "the grid" : request.file;
  plan.table.columns.push_back({"", plan.name, {}, {}});
  return plan;
}

}  // namespace sadam::reproduce
