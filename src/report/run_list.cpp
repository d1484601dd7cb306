#include "report/run_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/quantities.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "report/recipe_values.h"
#include "report/run_summary.h"
#include "train/recipe/fields.h"

namespace sadam::report {
namespace {

/// Whether a column is among those that people see.
enum class Brief { yes, no, if_any, only };  // if_any: where it is not 0 for some run; only: no program does

using CellOf = std::function<Cell(const RunSummary&)>;

/// A column of the list: what it is called and where it comes from.
struct RunColumn {
  Column column;
  Brief brief;
  CellOf cell;
};

template <class Get>
CellOf from_recipe(const Get& get) {
  return [get](const RunSummary& run) { return run.recipe ? Cell(get(*run.recipe)) : Cell(); };
}

CellOf number(std::optional<double> RunSummary::*field, int digits) {
  return [=](const RunSummary& run) { return run.*field ? Cell::number(*(run.*field), digits) : Cell(); };
}

CellOf percent(std::optional<double> RunSummary::*field) {
  return [=](const RunSummary& run) {
    return run.*field ? Cell::number(base::percent(*(run.*field)), 2) : Cell();
  };
}

CellOf duration(std::optional<double> RunSummary::*field) {
  return [=](const RunSummary& run) {
    return run.*field ? Cell(*(run.*field), base::duration(*(run.*field))) : Cell();
  };
}

CellOf count(std::int64_t train::StepCounts::*field) {
  return [=](const RunSummary& run) { return Cell::count(run.counts.*field); };
}

Cell epochs_cell(const RunSummary& run) {
  const auto of = run.recipe ? fmt::format("{}", run.recipe->train.epochs) : "?";
  return {run.epochs_done, fmt::format("{}/{}", run.epochs_done, of)};
}

Cell state_cell(const RunSummary& run) {
  const auto tone = run.state == RunState::finished  ? base::Tone::good
                    : run.state == RunState::running ? base::Tone::strong
                    : run.state == RunState::stopped ? base::Tone::notice
                                                     : base::Tone::bad;
  return Cell(name_of(run.state)).in(tone);
}

Cell trend_cell(const RunSummary& run) {
  constexpr std::size_t kCells = 8;
  std::vector<double> accuracies;
  for (const auto& epoch : run.epochs) accuracies.push_back(epoch.test_accuracy);
  return accuracies.empty() ? Cell() : Cell(sparkline(accuracies, kCells));
}

// Numbers with spaces between them, from which `reproduce --from-csv` redoes times to convergence.
template <class Get>
Cell by_epoch(const RunSummary& run, const Get& get) {
  std::vector<std::string> numbers;
  for (const auto& epoch : run.epochs) numbers.push_back(fmt::format("{}", get(epoch)));
  return numbers.empty() ? Cell() : Cell(fmt::format("{}", fmt::join(numbers, " ")));
}

// The numbers are importances: what goes first where there is little room. Results have the largest.
std::vector<RunColumn> run_columns() {
  using Run = const RunSummary&;
  using Recipe = const train::Recipe&;
  using Epoch = const train::EpochEvent&;
  return {
      {{"name", "run"}, Brief::yes, [](Run run) { return Cell(run.name); }},
      {{"state", "state", Align::left, 20}, Brief::yes, state_cell},
      {{"data", "data", Align::left, 11}, Brief::yes, from_recipe([](Recipe recipe) {
         return recipe.data.name;
       })},
      {{"model", "model", Align::left, 12}, Brief::yes, from_recipe(short_model)},
      {{"optimizer", "optimizer", Align::left, 14}, Brief::yes, from_recipe(short_optimizer)},
      {{"seed", "seed", Align::right, 10}, Brief::yes, from_recipe([](Recipe recipe) {
         return Cell::count(recipe.seed);
       })},
      {{"epochs", "epochs", Align::right, 17}, Brief::yes, epochs_cell},
      {{"best", "best %", Align::right, 19}, Brief::yes, percent(&RunSummary::best_accuracy)},
      {{"last", "last %", Align::right, 16}, Brief::yes, percent(&RunSummary::last_accuracy)},
      {{"brake", "brake", Align::right, 13}, Brief::yes, number(&RunSummary::mean_brake, 2)},
      {{"time", "time", Align::right, 15}, Brief::yes, duration(&RunSummary::train_seconds)},
      {{"validated", "validated %", Align::right, 14},
       Brief::if_any,
       percent(&RunSummary::validated_accuracy)},
      {{"trend", "accuracy", Align::left, 18}, Brief::only, trend_cell},
      {{"steps", "steps", Align::right}, Brief::no, [](Run run) { return Cell::count(run.steps); }},
      {{"best_epoch", "epoch of best", Align::right},
       Brief::no,
       [](Run run) { return run.best_epoch ? Cell::count(*run.best_epoch) : Cell(); }},
      {{"test_loss", "test loss", Align::right}, Brief::no, number(&RunSummary::last_test_loss, 4)},
      {{"lgi", "ρ", Align::right}, Brief::no, number(&RunSummary::mean_lgi, 3)},
      {{"chatter", "chatter", Align::right, 4}, Brief::if_any, number(&RunSummary::chatter, 3)},
      {{"flips", "flips", Align::right, 3}, Brief::if_any, number(&RunSummary::flips, 3)},
      {{"gap", "gap in loss", Align::right}, Brief::no, number(&RunSummary::last_gap, 4)},
      {{"step_time", "time per step", Align::right},
       Brief::no,
       [](Run run) {
         return run.seconds_per_step
                    ? Cell(*run.seconds_per_step,
                           fmt::format("{} ms", base::decimal(1000 * *run.seconds_per_step, 1)))
                    : Cell();
       }},
      {{"evaluate_time", "evaluation", Align::right}, Brief::no, duration(&RunSummary::evaluate_seconds)},
      {{"memory", "memory", Align::right},
       Brief::no,
       [](Run run) {
         return run.peak_memory ? Cell(*run.peak_memory, base::memory(*run.peak_memory)) : Cell();
       }},
      {{"skipped", "skipped", Align::right, 9}, Brief::if_any, count(&train::StepCounts::skipped)},
      {{"non_finite_probes", "bad probes", Align::right, 8},
       Brief::if_any,
       count(&train::StepCounts::non_finite_probes)},
      {{"probed_steps", "probed steps", Align::right}, Brief::no, count(&train::StepCounts::probed)},
      {{"within_noise", "in noise", Align::right, 7}, Brief::if_any, count(&train::StepCounts::within_noise)},
      {{"accuracies", "accuracy by epoch"},
       Brief::no,
       [](Run run) { return by_epoch(run, [](Epoch epoch) { return base::percent(epoch.test_accuracy); }); }},
      {{"seconds", "time by epoch"},
       Brief::no,
       [](Run run) { return by_epoch(run, [](Epoch epoch) { return epoch.train_seconds; }); }},
      {{"folder", "folder"}, Brief::no, [](Run run) { return Cell(run.folder.string()); }},
  };
}

/// All columns there are: those above, and the recipe's fields but for the seed, which is one of those above.
class RunTable {
 public:
  RunTable() : summaries_(run_columns()) {
    for (const auto& summary : summaries_) columns_.push_back(summary.column);
    for (const auto& field : train::field_table())
      if (field.name() != "seed") columns_.push_back({field.name(), field.name()});
    for (const auto& column : columns_) keys_.push_back(column.key);
  }

  const std::vector<Column>& columns() const { return columns_; }
  // The columns that people see, and those that programs do.
  std::vector<std::size_t> brief(const std::vector<std::vector<Cell>>& rows) const {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < summaries_.size(); ++i)
      if (summaries_[i].brief != Brief::no && (summaries_[i].brief != Brief::if_any || has_any(rows, i)))
        shown.push_back(i);
    return shown;
  }
  std::vector<std::size_t> full() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (i >= summaries_.size() || summaries_[i].brief != Brief::only) all.push_back(i);
    return all;
  }

  std::size_t index_of(const std::string& key, std::string_view option) const {
    const auto* const field = train::find_row(key);  // also by a name that it had once
    const auto found = std::find(keys_.begin(), keys_.end(), field != nullptr ? field->name() : key);
    if (found == keys_.end())
      throw UsageError(fmt::format(
          "{}: there is no column or recipe field {}{}'sadam runs --help' lists the columns, 'sadam "
          "info recipe' the fields.",
          option, base::in_quotes(key), did_you_mean(key)));
    return static_cast<std::size_t>(found - keys_.begin());
  }

  std::vector<Cell> row(const RunSummary& run) const {
    std::vector<Cell> cells;
    for (const auto& summary : summaries_) cells.push_back(summary.cell(run));
    if (run.recipe) {
      for (auto& value : recipe_values(*run.recipe))
        if (value.name != "seed") cells.push_back(std::move(value.cell));
    }
    cells.resize(columns_.size());
    return cells;
  }

 private:
  static bool has_any(const std::vector<std::vector<Cell>>& rows, std::size_t column) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return row[column].value != Value(std::int64_t{0}) && row[column].value != Value();
    });
  }

  /// What stands above a column, a field without its table, or a misspelling of either or of a full name.
  std::vector<std::string> meant_by(const std::string& key) const {
    for (const auto& column : columns_)
      if (column.title == key) return {column.key};
    if (auto fields = train::fields_with_key(key); !fields.empty()) return fields;
    if (auto near = base::nearest(key, keys_); !near.empty()) return {std::move(near)};
    std::vector<std::string> bare;
    for (const auto& field : train::field_table()) bare.emplace_back(field.key);
    return train::fields_with_key(base::nearest(key, bare));
  }

  std::string did_you_mean(const std::string& key) const {
    const auto meant = meant_by(key);
    return meant.empty() ? "; " : fmt::format("; did you mean '{}'? ", fmt::join(meant, "' or '"));
  }

  std::vector<RunColumn> summaries_;
  std::vector<Column> columns_;
  std::vector<std::string> keys_;
};

std::optional<double> number_in(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real && !std::isnan(*real) ? std::optional(*real) : std::nullopt;
}

// A number matches however it is written ("0.001", "1e-3"), and as the table shows it ("15.96").
bool holds(const std::string& wanted, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell.value)) return wanted.empty();
  if (cell.text == wanted) return true;
  const auto number = number_in(cell.value);
  if (!number) return false;
  double parsed = 0;
  const auto* end = wanted.data() + wanted.size();
  const auto [rest, error] = std::from_chars(wanted.data(), end, parsed);
  return error == std::errc() && rest == end && parsed == *number;
}

/// "a", "a or b", "a, b or c"; of many, the first few.
std::string alternatives(const std::set<std::string>& texts) {
  constexpr std::size_t kMostNamed = 6;
  std::vector<std::string> named(texts.begin(), texts.end());
  if (named.size() > kMostNamed) {
    named.resize(kMostNamed);
    named.emplace_back("something else");
  }
  return base::alternatives(named);
}

// Which runs are meant: those of which every `field=value` holds.
class Conditions {
 public:
  // `index_of` finds the column of a field.
  template <class IndexOf>
  Conditions(const std::vector<std::string>& texts, const IndexOf& index_of) {
    for (const auto& text : texts) {
      const auto equals = text.find('=');
      if (equals == std::string::npos)
        throw UsageError(
            fmt::format("--where takes field=value, such as optimizer.name=sadam, and not '{}'", text));
      conditions_.push_back({.column = index_of(text.substr(0, equals)), .wanted = text.substr(equals + 1)});
    }
  }

  bool hold_of(const std::vector<Cell>& row) {
    bool all = true;
    for (auto& condition : conditions_) {
      const auto& cell = row[condition.column];
      const bool met = holds(condition.wanted, cell);
      condition.met = condition.met || met;
      if (!cell.text.empty()) condition.seen.insert(cell.text);
      all = all && met;
    }
    return all;
  }

  // For each condition that held of no row so far, what the rows have instead: "optimizer.name is adamw or
  // sadam".
  std::vector<std::string> unmet(const std::vector<Column>& columns) const {
    std::vector<std::string> sentences;
    for (const auto& condition : conditions_)
      if (!condition.met && !condition.seen.empty())
        sentences.push_back(
            fmt::format("{} is {}", columns[condition.column].key, alternatives(condition.seen)));
    return sentences;
  }

 private:
  struct Condition {
    std::size_t column;
    std::string wanted;
    bool met = false;
    std::set<std::string> seen = {};
  };
  std::vector<Condition> conditions_;
};

/// Numbers by size, texts by their bytes.
bool comes_before(const Value& a, const Value& b) {
  const auto x = number_in(a);
  const auto y = number_in(b);
  return x && y ? *x < *y : a < b;
}

bool is_missing(const Value& value) {
  const auto* real = std::get_if<double>(&value);
  return std::holds_alternative<std::monostate>(value) || (real && std::isnan(*real));
}

/// What is missing comes last, whichever way the rest goes.
void sort_rows(std::vector<std::vector<Cell>>& rows, std::size_t column, bool reverse) {
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    const auto& x = a[column].value;
    const auto& y = b[column].value;
    if (is_missing(x) || is_missing(y)) return !is_missing(x) && is_missing(y);
    return reverse ? comes_before(y, x) : comes_before(x, y);
  });
}

/// What was the same for every run goes first, where something has to go. How they did always tells.
void devalue_constant_columns(TextTable& table) {
  if (table.rows.size() < 2) return;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].importance > 0 && table.columns[i].importance < kOfResults && is_constant(table, i))
      table.columns[i].importance = 1;
}

}  // namespace

RunList list_runs(const RunQuery& query) {
  const RunTable table;
  Conditions conditions(query.where, [&](const auto& field) { return table.index_of(field, "--where"); });
  const auto sorted_by = table.index_of(query.sort.empty() ? "name" : query.sort, "--sort");

  RunList list;
  list.full.columns = table.columns();
  const auto runs = summarise_all(query.root);
  std::vector<const RunSummary*> listed;
  for (const auto& run : runs) {
    ++list.found;
    auto row = table.row(run);
    const bool wanted = conditions.hold_of(row);
    // Without its recipe a run cannot be told apart from those that are wanted.
    if (!run.problem.empty() && (wanted || !run.recipe)) {
      list.problems.push_back(run.problem);
      if (is_unread(run.state)) ++list.unread;
    }
    if (!wanted) continue;
    list.full.add(std::move(row));
    listed.push_back(&run);
  }
  list.irregularities = irregularities(listed);
  list.unmet = conditions.unmet(list.full.columns);
  sort_rows(list.full.rows, sorted_by, query.reverse);
  list.brief = only_columns(list.full, table.brief(list.full.rows));
  devalue_constant_columns(list.brief);
  list.full = only_columns(list.full, table.full());
  return list;
}

bool is_constant(const TextTable& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return row[column].text == table.rows[0][column].text; });
}

std::vector<std::string> result_columns() {
  std::vector<std::string> keys;
  for (const auto& column : run_columns())
    if (column.brief != Brief::only) keys.push_back(column.column.key);
  return keys;
}

std::string sparkline(const std::vector<double>& values, std::size_t cells) {
  constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -lowest;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  const auto shown = std::min(cells, values.size());
  std::string line;
  for (std::size_t i = 0; i < shown; ++i) {
    const double value = values[(i + 1) * values.size() / shown - 1];
    if (!std::isfinite(value)) {
      line += ' ';
      continue;
    }
    const double height = highest > lowest ? (value - lowest) / (highest - lowest) : 0.5;
    line += kBlocks[std::min<std::size_t>(static_cast<std::size_t>(height * 8), 7)];
  }
  return line;
}

}  // namespace sadam::report
