#include "report/run_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>

#include "base/file.h"
#include "base/quantities.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "report/recipe_values.h"
#include "train/recipe/fields.h"
#include "train/recipe/source.h"

namespace sadam::report {
namespace {

using CsvFields = std::vector<std::string>;

/// The fields of one record (RFC 4180), which `text` then begins after; counts its lines.
CsvFields take_record(std::string_view& text, std::size_t& line) {
  CsvFields fields(1);
  bool quoted = false;
  while (!text.empty()) {
    const char letter = text.front();
    text.remove_prefix(1);
    if (letter == '\n') ++line;
    if (quoted && letter == '"' && !text.empty() && text.front() == '"') {
      text.remove_prefix(1);
      fields.back() += '"';
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (quoted || (letter != ',' && letter != '\n' && letter != '\r')) {
      fields.back() += letter;
    } else if (letter == ',') {
      fields.emplace_back();
    } else if (letter == '\n') {
      break;
    }
  }
  return fields;
}

/// What a record has in one column.
struct CsvField {
  std::string place;  ///< "runs.csv:3: brake", for messages
  std::string text;

  template <class T>
  T number_in(std::string_view part) const {
    T value{};
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || rest != part.data() + part.size())
      throw Error(fmt::format("{} is '{}', which is no number: the file is damaged.", place, part));
    return value;
  }
  template <class T>
  void read(T& value) const {
    value = number_in<T>(text);
  }
  /// With spaces between them.
  std::vector<double> numbers() const {
    std::vector<double> list;
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find(' ', at), text.size());
      list.push_back(number_in<double>(std::string_view(text).substr(at, end - at)));
      at = end + 1;
    }
    return list;
  }
};

/// Whether a column is among those that people see.
enum class Brief { yes, no, if_any, only };  // if_any: where it is not 0 for some run; only: no program does

/// What a run has in a column, and how it is read back.
struct Content {
  std::function<Cell(const RunSummary&)> cell;
  std::function<void(RunSummary&, const CsvField&)> read = {};  ///< from what is not empty
};

/// A column of the list: what it is called and where it comes from.
struct RunColumn {
  Column column;
  Brief brief;
  Content content;
};

template <class Get>
Content from_recipe(const Get& get) {
  return {[get](const RunSummary& run) { return run.recipe ? Cell(get(*run.recipe)) : Cell(); }};
}

template <class T, class Format>
Content value(std::optional<T> RunSummary::*field, Format format) {
  return {
      [=](const RunSummary& run) { return run.*field ? Cell(*(run.*field), format(*(run.*field))) : Cell(); },
      [=](RunSummary& run, const CsvField& text) { text.read((run.*field).emplace()); }};
}

Content number(std::optional<double> RunSummary::*field, int digits) {
  return value(field, [=](double number) { return base::decimal(number, digits); });
}

Content percent(std::optional<double> RunSummary::*field) {
  return {[=](const RunSummary& run) {
            return run.*field ? Cell::number(base::percent(*(run.*field)), 2) : Cell();
          },
          [=](RunSummary& run, const CsvField& percent) {
            run.*field = percent.number_in<double>(percent.text) / 100;
          }};
}

template <class Place>
Content count(const Place& place) {
  return {[=](const RunSummary& run) { return Cell::count(std::invoke(place, run)); },
          [=](RunSummary& run, const CsvField& text) { text.read(std::invoke(place, run)); }};
}

Content count(std::int64_t train::StepCounts::*field) {
  return count([=](auto& run) -> auto& { return run.counts.*field; });
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
const std::vector<RunColumn>& run_columns() {
  using Run = const RunSummary&;
  using Recipe = const train::Recipe&;
  using Epoch = const train::EpochEvent&;
  static const std::vector<RunColumn> columns = {
      {{"name", "run"}, Brief::yes, {[](Run run) { return Cell(run.name); }}},
      {{"state", "state", Align::left, 20}, Brief::yes, {state_cell}},
      {{"data", "data", Align::left, 11}, Brief::yes, from_recipe([](Recipe recipe) {
         return recipe.data.name;
       })},
      {{"model", "model", Align::left, 12}, Brief::yes, from_recipe(short_model)},
      {{"optimizer", "optimizer", Align::left, 14}, Brief::yes, from_recipe(short_optimizer)},
      {{"seed", "seed", Align::right, 10}, Brief::yes, from_recipe([](Recipe recipe) {
         return Cell::count(recipe.seed);
       })},
      {{"epochs", "epochs", Align::right, 17},
       Brief::yes,
       {epochs_cell, count(&RunSummary::epochs_done).read}},
      {{"best", "best %", Align::right, 19}, Brief::yes, percent(&RunSummary::best_accuracy)},
      {{"last", "last %", Align::right, 16}, Brief::yes, percent(&RunSummary::last_accuracy)},
      {{"brake", "brake", Align::right, 13}, Brief::yes, number(&RunSummary::mean_brake, 2)},
      {{"time", "time", Align::right, 15}, Brief::yes, value(&RunSummary::train_seconds, base::duration)},
      {{"validated", "validated %", Align::right, 14},
       Brief::if_any,
       percent(&RunSummary::validated_accuracy)},
      {{"trend", "accuracy", Align::left, 18}, Brief::only, {trend_cell}},
      {{"steps", "steps", Align::right}, Brief::no, count(&RunSummary::steps)},
      {{"best_epoch", "epoch of best", Align::right},
       Brief::no,
       value(&RunSummary::best_epoch, [](std::int64_t epoch) { return fmt::format("{}", epoch); })},
      {{"test_loss", "test loss", Align::right}, Brief::no, number(&RunSummary::last_test_loss, 4)},
      {{"lgi", "ρ", Align::right}, Brief::no, number(&RunSummary::mean_lgi, 3)},
      {{"chatter", "chatter", Align::right, 4}, Brief::if_any, number(&RunSummary::chatter, 3)},
      {{"flips", "flips", Align::right, 3}, Brief::if_any, number(&RunSummary::flips, 3)},
      {{"gap", "gap in loss", Align::right}, Brief::no, number(&RunSummary::last_gap, 4)},
      {{"step_time", "time per step", Align::right},
       Brief::no,
       value(&RunSummary::seconds_per_step,
             [](double seconds) { return fmt::format("{} ms", base::decimal(1000 * seconds, 1)); })},
      {{"evaluate_time", "evaluation", Align::right},
       Brief::no,
       value(&RunSummary::evaluate_seconds, base::duration)},
      {{"memory", "memory", Align::right}, Brief::no, value(&RunSummary::peak_memory, base::memory)},
      {{"skipped", "skipped", Align::right, 9}, Brief::if_any, count(&train::StepCounts::skipped)},
      {{"non_finite_probes", "bad probes", Align::right, 8},
       Brief::if_any,
       count(&train::StepCounts::non_finite_probes)},
      {{"probed_steps", "probed steps", Align::right}, Brief::no, count(&train::StepCounts::probed)},
      {{"within_noise", "in noise", Align::right, 7}, Brief::if_any, count(&train::StepCounts::within_noise)},
      {{"accuracies", "accuracy by epoch"}, Brief::no, {[](Run run) {
         return by_epoch(run, [](Epoch epoch) { return base::percent(epoch.test_accuracy); });
       }}},
      {{"seconds", "time by epoch"}, Brief::no, {[](Run run) {
         return by_epoch(run, [](Epoch epoch) { return epoch.train_seconds; });
       }}},
      {{"folder", "folder"}, Brief::no, {[](Run run) { return Cell(run.folder.string()); }}},
  };
  return columns;
}

/// All columns there are: those above, and the recipe's fields but for the seed, which is one of those above.
class RunTable {
 public:
  RunTable() : columns_(run_columns()) {
    for (const auto& field : train::field_table())
      if (field.name() != "seed")
        columns_.push_back(
            {{field.name(), field.name()}, Brief::no, from_recipe([&field](const auto& recipe) {
               return recipe_value(field, recipe);
             })});
    for (const auto& column : columns_) keys_.push_back(column.column.key);
  }

  TextTable without_rows() const {
    TextTable table;
    for (const auto& column : columns_) table.columns.push_back(column.column);
    return table;
  }
  // The columns that people see, and those that programs do.
  std::vector<std::size_t> brief(const std::vector<std::vector<Cell>>& rows) const {
    return columns_that([&](const RunColumn& column, std::size_t i) {
      return column.brief != Brief::no && (column.brief != Brief::if_any || has_any(rows, i));
    });
  }
  std::vector<std::size_t> full() const {
    return columns_that([](const RunColumn& column, std::size_t) { return column.brief != Brief::only; });
  }

  std::size_t index_of(const std::string& key, std::string_view option) const {
    const auto* const field = train::find_row(key);  // also by a name that it had once
    const auto found = std::ranges::find(keys_, field != nullptr ? field->name() : key);
    if (found == keys_.end())
      throw UsageError(fmt::format(
          "{}: there is no column or recipe field {}{}'sadam runs --help' lists the columns, 'sadam "
          "info recipe' the fields.",
          option, base::in_quotes(key), did_you_mean(key)));
    return static_cast<std::size_t>(found - keys_.begin());
  }

  std::vector<Cell> row(const RunSummary& run) const {
    std::vector<Cell> cells;
    for (const auto& column : columns_) cells.push_back(column.content.cell(run));
    return cells;
  }

 private:
  template <class Accept>
  std::vector<std::size_t> columns_that(const Accept& accept) const {
    std::vector<std::size_t> accepted;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (accept(columns_[i], i)) accepted.push_back(i);
    return accepted;
  }

  static bool has_any(const std::vector<std::vector<Cell>>& rows, std::size_t column) {
    return std::ranges::any_of(rows, [&](const auto& row) {
      return row[column].value != Value(std::int64_t{0}) && row[column].value != Value();
    });
  }

  /// What stands above a column, a field without its table, or a misspelling of either or of a full name.
  std::vector<std::string> meant_by(const std::string& key) const {
    for (const auto& [column, brief, content] : columns_)
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

  std::vector<RunColumn> columns_;
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
  return value == Value() || (real && std::isnan(*real));
}

/// What is missing comes last, whichever way the rest goes.
void sort_rows(std::vector<std::vector<Cell>>& rows, std::size_t column, bool reverse) {
  std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) {
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
  list.full = table.without_rows();
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
  return std::ranges::all_of(table.rows,
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

// ---- read back --------------------------------------------------------------------------------------------

namespace {

RunState state_named(const std::string& name, const std::string& place) {
  for (const auto& state : names_of(RunState{}))
    if (name == state.name) return state.value;
  throw Error(
      fmt::format("{}: '{}' is no state of a run: give a file that 'sadam runs --csv' wrote.", place, name));
}

RunSummary run_of(const CsvFields& names, CsvFields values, const std::string& place) {
  if (values.size() != names.size())
    throw Error(fmt::format("{}: there are {} fields and {} columns: the file is damaged.", place,
                            values.size(), names.size()));
  std::map<std::string, CsvField> fields;
  for (std::size_t i = 0; i < names.size(); ++i)
    fields.emplace(names[i], CsvField{fmt::format("{}: {}", place, names[i]), std::move(values[i])});
  RunSummary run;
  run.name = fields["name"].text;
  run.folder = fields["folder"].text;
  run.state = state_named(fields["state"].text, place);
  train::RecipeSource recipe;
  for (const auto& [name, field] : fields)
    if (!field.text.empty() && (name == "seed" || name.find('.') != std::string::npos))
      recipe.set(fmt::format("{}={}", name, field.text), field.place);
  if (!is_unread(run.state)) {
    run.recipe = recipe.resolve();
    run.recipe->train.device = fields["train.device"].text;  // "" where the list lacks it
  }
  for (const auto& [column, brief, content] : run_columns())
    if (const auto& field = fields[column.key]; content.read && !field.text.empty()) content.read(run, field);
  run.counts.steps = run.steps;
  // Lists of older versions lack it.
  if (fields["probed_steps"].text.empty() && run.mean_lgi) run.counts.probed = run.steps;
  const auto accuracies = fields["accuracies"].numbers();
  const auto seconds = fields["seconds"].numbers();
  for (std::size_t i = 0; i < accuracies.size() && i < seconds.size(); ++i) {
    train::EpochEvent epoch;
    epoch.epoch = static_cast<std::int64_t>(i) + 1;
    epoch.test_accuracy = accuracies[i] / 100;
    epoch.train_seconds = seconds[i];
    epoch.train_loss = epoch.test_loss = std::numeric_limits<double>::quiet_NaN();  // not in the list
    run.epochs.push_back(epoch);
  }
  if (!run.epochs.empty() && run.last_test_loss) {
    run.epochs.back().test_loss = *run.last_test_loss;
    if (run.last_gap) run.epochs.back().train_loss = *run.last_test_loss - *run.last_gap;
  }
  return run;
}

}  // namespace

std::vector<RunSummary> runs_in_csv(std::string_view text, std::string_view origin) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // as spreadsheets write it
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::size_t line = 1;
  const auto names = take_record(text, line);
  if (names.front() != "name")
    throw Error(fmt::format("{} is no list of runs: give a file that 'sadam runs --csv' wrote.", origin));
  std::vector<RunSummary> runs;
  while (!text.empty()) {
    const auto place = fmt::format("{}:{}", origin, line);
    auto fields = take_record(text, line);
    if (fields == CsvFields{""}) continue;  // an empty line
    runs.push_back(run_of(names, std::move(fields), place));
  }
  return runs;
}

std::vector<std::vector<std::string>> csv_records(std::string_view text, std::size_t most) {
  std::vector<CsvFields> records;
  std::size_t line = 1;
  while (!text.empty() && records.size() < most) records.push_back(take_record(text, line));
  return records;
}

std::vector<RunSummary> read_runs_csv(const std::filesystem::path& path) {
  return runs_in_csv(base::read_text(path), path.string());
}

}  // namespace sadam::report
