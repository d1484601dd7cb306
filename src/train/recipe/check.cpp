// What a recipe may say: names, types and ranges, one by one and together.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "base/usage_error.h"
#include "kernels/lgi.h"
#include "train/recipe/fields.h"

namespace sadam::train {
namespace {

[[noreturn]] void refuse(const Entry& entry, std::string_view sentence) {
  const bool has_end = sentence.ends_with('?') || sentence.ends_with('.');
  // The sentence names the field already.
  const auto where = entry.where.starts_with("--set ") ? std::string("--set") : entry.where;
  throw UsageError(fmt::format("{}: {}{}", where, sentence, has_end ? "" : "."));
}

std::vector<std::string> keys_of(std::string_view table) {
  std::vector<std::string> keys;
  for (const auto& row : field_table()) {
    if (row.table == table) keys.emplace_back(row.key);
  }
  return keys;
}

bool is_table(std::string_view name) {
  const auto& names = table_names();
  return std::ranges::find(names, name) != names.end();
}

/// A name that is neither a table nor a field outside all tables.
[[noreturn]] void refuse_outer_name(const Entry& entry, const std::string& name) {
  if (name == "table")
    refuse(entry, "[table] makes this a table of many runs; give the file to 'sadam reproduce'");
  if (name == "sweep") refuse(entry, "[sweep] makes this a grid of runs; give the file to 'sadam train'");
  auto valid = keys_of("");
  valid.insert(valid.end(), table_names().begin(), table_names().end());
  const auto elsewhere = fields_with_key(name);
  const auto hint = elsewhere.empty() ? base::suggestion(name, valid)
                                      : fmt::format("; did you mean '{}'?", fmt::join(elsewhere, "' or '"));
  refuse(entry, fmt::format("a recipe has no field or table {}{}", base::in_quotes(name), hint));
}

[[noreturn]] void refuse_inner_name(const Entry& entry) {
  const auto keys = keys_of(entry.table);
  const auto elsewhere = fields_with_key(entry.key);
  const auto hint = base::nearest(entry.key, keys).empty() && !elsewhere.empty()
                        ? fmt::format("; did you mean '{}'?", fmt::join(elsewhere, "' or '"))
                        : base::suggestion(entry.key, keys);
  refuse(entry, fmt::format("'{}' has no field {}{}", entry.table, base::in_quotes(entry.key), hint));
}

struct DescribeValue {
  std::string operator()(const std::string& text) const {
    return fmt::format("the text {}", base::in_quotes(text));
  }
  std::string operator()(std::int64_t integer) const { return fmt::format("the integer {}", integer); }
  std::string operator()(double number) const { return fmt::format("the number {}", number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(const OtherValue& value) const { return value.kind; }
};

/// One field's value on its way into the recipe.
class Assignment {
 public:
  Assignment(const FieldRow& row, const Entry& entry) : row_(row), entry_(entry) {}

  void operator()(std::string* slot) const {
    const auto* const text = std::get_if<std::string>(&entry_.value);
    if (text == nullptr) refuse_type("text in quotes");
    check_text(*text);
    *slot = *text;
  }

  void operator()(std::int64_t* slot) const {
    const auto* const integer = std::get_if<std::int64_t>(&entry_.value);
    const auto& range = std::get<Integers>(row_.allowed);
    if (integer == nullptr) {
      if (is_integer_beyond_64_bits())
        refuse(entry_,
               fmt::format("{} is {}, which is beyond 64 bits; allowed are {} to {}", row_.name(),
                           base::in_quotes(std::get<std::string>(entry_.value)), range.least, range.most));
      refuse_type("an integer");
    }
    if (*integer < range.least || *integer > range.most) refuse_value(fmt::format("{}", *integer));
    *slot = *integer;
  }

  void operator()(double* slot) const {
    const auto* const integer = std::get_if<std::int64_t>(&entry_.value);
    const auto* const number = std::get_if<double>(&entry_.value);
    if (integer == nullptr && number == nullptr) refuse_type("a number");
    const double value = number != nullptr ? *number : static_cast<double>(*integer);
    const auto& range = std::get<OptionRange>(row_.allowed);
    const bool high_enough = range.with_low ? value >= range.low : value > range.low;
    const bool low_enough = range.with_high ? value <= range.high : value < range.high;
    if (!std::isfinite(value))
      refuse(entry_, fmt::format("{} is {}; it must be a finite number, {}", row_.name(), value,
                                 describe(row_.allowed)));
    if (!high_enough || !low_enough) refuse_value(fmt::format("{}", value));
    *slot = value;
  }

  void operator()(bool* slot) const {
    const auto* const flag = std::get_if<bool>(&entry_.value);
    if (flag == nullptr) refuse_type("true or false");
    *slot = *flag;
  }

 private:
  /// TOML has no such integer, so --set takes it for text.
  bool is_integer_beyond_64_bits() const {
    const auto* const text = std::get_if<std::string>(&entry_.value);
    if (text == nullptr) return false;
    std::int64_t ignored = 0;
    const auto* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data() + (text->starts_with('+') ? 1 : 0), end, ignored);
    return read.ec == std::errc::result_out_of_range && read.ptr == end;
  }

  void check_text(const std::string& text) const {
    if (const auto* const choice = std::get_if<OneOf>(&row_.allowed)) {
      if (std::ranges::find(choice->names, text) == choice->names.end())
        refuse(entry_, fmt::format("{} is {}{}", row_.name(), base::in_quotes(text),
                                   base::suggestion(text, choice->names)));
      return;
    }
    if (text.empty() && !std::get<AnyText>(row_.allowed).may_be_empty)
      refuse(entry_, fmt::format("{} is empty; leave it out for {}", row_.name(), standard()));
    // Names of files cannot hold all of them, and in a table they would break the lines.
    if (base::printable(text) != text)
      refuse(entry_, fmt::format("{} is {}, which has a control character in it; take it out", row_.name(),
                                 base::in_quotes(text)));
  }

  std::string standard() const {
    Recipe defaults;
    return to_toml(row_.slot(defaults));
  }

  [[noreturn]] void refuse_type(std::string_view wanted) const {
    refuse(entry_, fmt::format("{} is {}; it must be {}", row_.name(),
                               std::visit(DescribeValue{}, entry_.value), wanted));
  }

  [[noreturn]] void refuse_value(std::string_view given) const {
    refuse(entry_, fmt::format("{} is {}; allowed are {}", row_.name(), given, describe(row_.allowed)));
  }

  const FieldRow& row_;
  const Entry& entry_;
};

/// A control is asked for in two fields, and one of them alone would do nothing. A brake of 1 is no wish:
/// run.toml has it for every run.
void check_control(const Recipe& recipe, bool brake_given) {
  const auto& control = recipe.control;
  const auto kind = control_of(recipe);
  if (kind == Control::none) {
    if (!control.run.empty())
      throw UsageError(
          "control.run is given and control.kind is 'none'; make it 'matched', 'shuffled' or 'replayed'.");
    if (control.brake != 1)
      throw UsageError(fmt::format(
          "control.brake is {} and control.kind is 'none'; make it 'constant', or leave the brake out.",
          control.brake));
    return;
  }
  if (optimizer_of(recipe) != OptimizerKind::adamw)
    throw UsageError(fmt::format(
        "control.kind is '{}' and optimizer.name is '{}'; a control is a run of 'adamw' with the brakes "
        "of another run.",
        control.kind, recipe.optimizer.name));
  if (recipe.optimizer.gradient_at != name_of(GradientAt::weights) || recipe.optimizer.final_ratio != 0)
    throw UsageError(
        fmt::format("control.kind is '{}', and a control is plain AdamW; leave optimizer.gradient_at and "
                    "optimizer.final_ratio out.",
                    control.kind));
  if (kind != Control::constant && control.run.empty())
    throw UsageError(fmt::format(
        "control.kind is '{}' without control.run; name the folder of the S-Adam run whose brakes it "
        "takes.",
        control.kind));
  if (kind == Control::constant && !brake_given)
    throw UsageError(
        "control.kind is 'constant' without control.brake; give the factor, such as control.brake=0.5.");
}

}  // namespace

Entry entry_about(std::string_view field, std::string where) {
  const auto dot = field.find('.');
  Entry entry;
  if (dot != std::string_view::npos) entry.table = field.substr(0, dot);
  entry.key = dot == std::string_view::npos ? field : field.substr(dot + 1);
  entry.where = std::move(where);
  return entry;
}

const FieldRow* checked_row(const Entry& entry) {
  const auto& outer = entry.table.empty() ? entry.key : entry.table;
  if (const auto* const row = find_row("", outer)) {
    if (entry.table.empty()) return row;
    refuse(entry, fmt::format("'{}' is a field and not a table; write {} = VALUE", outer, outer));
  }
  if (!is_table(outer)) refuse_outer_name(entry, outer);
  if (entry.table.empty() || entry.opens_table) {
    const auto* const other = std::get_if<OtherValue>(&entry.value);
    if (other == nullptr || other->kind != kTableKind) {
      const std::string choice = find_row(outer, "kind") != nullptr ? "kind" : "name";
      const auto hint =
          find_row(outer, choice) == nullptr ? "" : fmt::format("; did you mean {}.{}?", outer, choice);
      refuse(entry, fmt::format("'{}' is no field but a table, written [{}]{}", outer, outer, hint));
    }
    return nullptr;
  }
  const auto* const row = find_row(entry.table, entry.key);
  if (row == nullptr) refuse_inner_name(entry);
  return row;
}

void assign(const FieldRow& row, const Entry& entry, Recipe& recipe) {
  std::visit(Assignment(row, entry), row.slot(recipe));
}

void check_together(const Recipe& recipe, bool brake_given) {
  const auto& optimizer = recipe.optimizer;
  const bool has_probes = optimizer_of(recipe) == OptimizerKind::sadam;
  if (has_probes && !go_together(value_named<Directions>(optimizer.directions, "optimizer.directions"),
                                 value_named<Statistic>(optimizer.statistic, "optimizer.statistic")))
    throw UsageError(fmt::format(
        "optimizer.directions is 'step' and optimizer.statistic is '{}'; along the step there is the "
        "statistic 'residual' only.",
        optimizer.statistic));
  if (has_probes && optimizer.brake == name_of(Brake::held) &&
      optimizer.directions != name_of(Directions::step))
    throw UsageError(
        fmt::format("optimizer.brake is 'held' and optimizer.directions is '{}'; 'held' steers by a probe "
                    "along the step: "
                    "set optimizer.directions = 'step' and optimizer.statistic = 'residual'.",
                    optimizer.directions));
  if (has_probes && recipe.train.probe_images > 0 &&
      kernels::reads_slopes(value_named<Statistic>(optimizer.statistic, "optimizer.statistic")))
    throw UsageError(
        fmt::format("train.probe_images is {} and optimizer.statistic is '{}', which compares the probes "
                    "with the gradient of "
                    "the whole batch: leave train.probe_images out, or take another statistic.",
                    recipe.train.probe_images, optimizer.statistic));
  if (precision_of(recipe) != Precision::float32 && recipe.train.device == "cpu")
    throw UsageError(
        fmt::format("train.precision is '{}' and train.device is 'cpu'; a CPU trains in float32: leave it "
                    "out, or use a GPU "
                    "(--device cuda).",
                    recipe.train.precision));
  if (recipe.watch.chatter == 1)
    throw UsageError("watch.chatter is 1; going back and forth takes at least 2 steps.");
  if (recipe.average.decay > 0 && recipe.average.from > recipe.train.epochs)
    throw UsageError(
        fmt::format("average.from is {} and train.epochs is {}; the average would never begin: begin it "
                    "earlier, or leave average.decay out.",
                    recipe.average.from, recipe.train.epochs));
  check_control(recipe, brake_given);
}

}  // namespace sadam::train
