#include "report/runs_csv.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/usage_error.h"
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

/// A record by the names of its columns.
class Record {
 public:
  Record(const CsvFields& names, CsvFields values, std::string place) : place_(std::move(place)) {
    if (values.size() != names.size())
      throw Error(fmt::format("{}: there are {} fields and {} columns: the file is damaged.", place_,
                              values.size(), names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) values_.emplace(names[i], std::move(values[i]));
  }

  std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }
  template <class T = double>
  std::optional<T> number(const std::string& name) const {
    const auto value = text(name);
    return value.empty() ? std::nullopt : std::optional(parsed<T>(name, value));
  }
  std::int64_t count(const std::string& name) const { return number<std::int64_t>(name).value_or(0); }
  std::optional<double> fraction(const std::string& name) const {
    const auto percent = number(name);
    return percent ? std::optional(*percent / 100) : std::nullopt;
  }
  /// Numbers with spaces between them.
  std::vector<double> numbers(const std::string& name) const {
    std::vector<double> list;
    const auto all = text(name);
    for (std::size_t at = 0; at < all.size();) {
      const auto end = std::min(all.find(' ', at), all.size());
      list.push_back(parsed<double>(name, std::string_view(all).substr(at, end - at)));
      at = end + 1;
    }
    return list;
  }

  /// The fields of the recipe that are given.
  train::Recipe recipe() const {
    train::RecipeSource source;
    for (const auto& [name, value] : values_)
      if (!value.empty() && (name == "seed" || name.find('.') != std::string::npos))
        source.set(fmt::format("{}={}", name, value), fmt::format("{}: {}", place_, name));
    return source.resolve();
  }

  const std::string& place() const { return place_; }

 private:
  template <class T>
  T parsed(const std::string& name, std::string_view text) const {
    T value{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size())
      throw Error(
          fmt::format("{}: {} is '{}', which is no number: the file is damaged.", place_, name, text));
    return value;
  }

  std::string place_;
  std::map<std::string, std::string> values_;
};

RunState state_of(const Record& record) {
  for (const auto& state : names_of(RunState{}))
    if (record.text("state") == state.name) return state.value;
  throw Error(fmt::format("{}: '{}' is no state of a run: give a file that 'sadam runs --csv' wrote.",
                          record.place(), record.text("state")));
}

RunSummary run_of(const Record& record) {
  RunSummary run;
  run.name = record.text("name");
  run.folder = record.text("folder");
  run.state = state_of(record);
  if (!is_unread(run.state)) run.recipe = record.recipe();
  run.steps = record.count("steps");
  run.epochs_done = record.count("epochs");
  run.best_accuracy = record.fraction("best");
  run.best_epoch = record.number<std::int64_t>("best_epoch");
  run.last_accuracy = record.fraction("last");
  run.validated_accuracy = record.fraction("validated");
  run.last_test_loss = record.number("test_loss");
  run.mean_brake = record.number("brake");
  run.mean_lgi = record.number("lgi");
  run.last_gap = record.number("gap");
  run.chatter = record.number("chatter");
  run.flips = record.number("flips");
  run.train_seconds = record.number("time");
  run.evaluate_seconds = record.number("evaluate_time");
  run.seconds_per_step = record.number("step_time");
  run.peak_memory = record.number<std::int64_t>("memory");
  run.counts.steps = run.steps;
  run.counts.probed = record.number<std::int64_t>("probed_steps").value_or(run.mean_lgi ? run.steps : 0);
  run.counts.skipped = record.count("skipped");
  run.counts.non_finite_probes = record.count("non_finite_probes");
  run.counts.within_noise = record.count("within_noise");
  const auto accuracies = record.numbers("accuracies");
  const auto seconds = record.numbers("seconds");
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
    runs.push_back(run_of(Record(names, std::move(fields), place)));
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
