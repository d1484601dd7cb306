#include "train/recipe/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "base/text.h"

namespace sadam::train {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kBillion = 1'000'000'000;
/// Runs of AdamW with the brakes of another run: they take its bias correction.
constexpr std::string_view kControls = "controls";
constexpr OptionRange kNotNegative{0};
constexpr OptionRange kZeroToOne{0, 1};
constexpr OptionRange kLessThanOne{.low = 0, .high = 1, .with_high = false};

// NOLINTNEXTLINE(bugprone-macro-parentheses): a member cannot be put into parentheses
#define SADAM_FIELD(table, key) #table, #key, [](Recipe & recipe) -> Slot { return &recipe.table.key; }

template <class Enum>
OneOf one_of() {
  OneOf choice;
  for (const auto& each : names_of(Enum{})) choice.names.emplace_back(each.name);
  return choice;
}

template <class T>
Allowed allowed_of(const OptionRange& range) {
  if constexpr (std::is_enum_v<T>) {
    return one_of<T>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return YesOrNo{};
  } else if constexpr (std::is_same_v<T, double>) {
    return range;
  } else {
    const bool bounded = range.high < static_cast<double>(kBillion);
    return Integers{static_cast<T>(range.low), bounded ? static_cast<T>(range.high) : kBillion};
  }
}

void add_options(std::vector<FieldRow>& rows) {
  std::vector<std::string_view> only_for;
#define SADAM_ROW(type, name, usual, range, meaning) \
  rows.push_back({SADAM_FIELD(optimizer, name), allowed_of<type>(range), meaning, only_for});
  SADAM_LEARNING_RATE(SADAM_ROW, kAdamLearningRate)
  only_for = {"sadam", "adamw"};
  SADAM_ADAM_OPTIONS(SADAM_ROW)
  only_for = {"sadam"};
  SADAM_BRAKE_OPTIONS(SADAM_ROW)
  SADAM_PROBE_OPTIONS(SADAM_ROW)
  only_for = {"adamw", "prox_sgd"};
  SADAM_GRADIENT_OPTIONS(SADAM_ROW)
  only_for = {"adamw"};
  SADAM_BOUND_OPTIONS(SADAM_ROW)
  only_for = {"prox_sgd"};
  SADAM_PROX_OPTIONS(SADAM_ROW)
#undef SADAM_ROW
  for (auto& row : rows)
    if (row.key == "bias_correction") row.only_for = {"sadam", kControls};
}

std::vector<FieldRow> make_field_table() {
  std::vector<FieldRow> rows = {
      {"", "title", [](Recipe& recipe) -> Slot { return &recipe.title; }, AnyText{},
       "What people call it; decides nothing"},
      {"", "seed", [](Recipe& recipe) -> Slot { return &recipe.seed; },
       Integers{0, std::numeric_limits<std::int64_t>::max()},
       "First weights, order of images, dropout and directions"},

      {SADAM_FIELD(model, name), one_of<nn::Model>(), "The network"},
      {SADAM_FIELD(model, bits), Integers{2, 8}, "Width of weights and activations, in bits", {"qatnet"}},
      {SADAM_FIELD(model, dropout), kLessThanOne, "Share of the last inputs dropped", {"qatnet"}},
      {SADAM_FIELD(model, weights), AnyText{},
       "A .safetensors or .pth file, here or in data.root; empty: random"},

      {SADAM_FIELD(data, name), AnyText{.may_be_empty = false, .commas_separate = true},
       "A name that 'sadam data list' gives, or folder:PATH"},
      {SADAM_FIELD(data, root), AnyText{.may_be_empty = false}, "The folder that holds the data sets"},
      {SADAM_FIELD(data, pixels), Integers{0, 4096},
       "Side of an image (qatnet: 32, 64, 160, 224); 0: its own"},
      {SADAM_FIELD(data, train_images), Integers{0, kBillion},
       "Train on so many, evenly from the classes; 0: all"},
      {SADAM_FIELD(data, test_images), Integers{0, kBillion},
       "Test on so many, evenly from the classes; 0: all"},
      {SADAM_FIELD(data, validation_images), Integers{0, kBillion},
       "Training images held out to choose an epoch by; 0: none"},

      {SADAM_FIELD(train, epochs), Integers{1, kMillion}, "How often every image is seen"},
      {SADAM_FIELD(train, batch), Integers{1, kMillion}, "Images in a batch"},
      {SADAM_FIELD(train, accumulate), Integers{1, kMillion}, "Batches that make up one step"},
      {SADAM_FIELD(train, probe_images), Integers{0, kMillion},
       "Probes see the first so many images of a batch; 0: all"},
      {SADAM_FIELD(train, clip), kNotNegative, "Longest gradient, cut after probing; 0: any"},
      {SADAM_FIELD(train, processes), Integers{1, 4096}, "Processes that train together"},
      {SADAM_FIELD(train, split), one_of<Split>(), "What they share out"},
      {SADAM_FIELD(train, threads), Integers{0, 4096}, "Threads of a process; 0: one a core"},
      {SADAM_FIELD(train, checkpoint_every), Integers{0, kBillion},
       "Steps between checkpoints; 0: one a minute"},
      {SADAM_FIELD(train, evaluate_batch), Integers{1, kMillion}, "Images evaluated at a time"},
      {SADAM_FIELD(train, device), AnyText{.may_be_empty = false, .commas_separate = true},
       "cpu, cuda or cuda:N"},
      {SADAM_FIELD(train, precision), one_of<Precision>(), "Of a GPU's steps, not probes"},
      {SADAM_FIELD(train, deterministic), YesOrNo{}, "The same bits on every run of a GPU, more slowly"},

      {SADAM_FIELD(watch, chatter), Integers{0, kMillion},
       "Steps over which chattering is measured, at least 2; 0: never"},
      {SADAM_FIELD(watch, regimes), Integers{0, kMillion},
       "Steps in a block by which changes of ρ are noticed; 0: never"},

      {SADAM_FIELD(schedule, name), one_of<Schedule>(), "What lr does"},
      {SADAM_FIELD(schedule, warmup), Integers{0, kBillion},
       "Steps over which the learning rate rises from 0"},
      {SADAM_FIELD(schedule, floor), kZeroToOne, "Where it ends, as a fraction of lr", {"cosine"}},
      {SADAM_FIELD(schedule, every), Integers{1, kMillion}, "Epochs between drops", {"step"}},
      {SADAM_FIELD(schedule, factor), kNotNegative, "What a drop multiplies lr by", {"step"}},
      {SADAM_FIELD(schedule, power),
       kNotNegative,
       "lr·(1 + t)^(−power), t since the warm-up",
       {"inverse_power"}},

      {SADAM_FIELD(average, decay), kZeroToOne, "Of the average of the weights; 1: the equal one; 0: none"},
      {SADAM_FIELD(average, from), Integers{1, kMillion}, "First epoch that it takes in"},

      {SADAM_FIELD(control, kind), one_of<Control>(), "What multiplies AdamW's step"},
      {SADAM_FIELD(control, run),
       AnyText{},
       "The folder of the S-Adam run that braked",
       {"matched", "shuffled", "replayed"}},
      {SADAM_FIELD(control, brake), kNotNegative, "The factor; matched fills it in", {"constant", "matched"}},

      {SADAM_FIELD(optimizer, name), one_of<OptimizerKind>(), "The optimizer"},
      {SADAM_FIELD(optimizer, preset),
       OneOf{{"default", "paper", "reference"}},
       "Fields you do not set",
       {"sadam"}},
  };
  add_options(rows);
  return rows;
}

#undef SADAM_FIELD

std::string digits_of(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string describe_numbers(const OptionRange& range) {
  const auto low = digits_of(range.low);
  const auto high = digits_of(range.high);
  const bool bounded = range.high != std::numeric_limits<double>::infinity();
  if (bounded && range.with_low && range.with_high) return fmt::format("{} to {}", low, high);
  const auto from = fmt::format("{} {}", range.with_low ? "at least" : "above", low);
  return bounded ? fmt::format("{} and {} {}", from, range.with_high ? "at most" : "below", high) : from;
}

/// A float of TOML: without a point or an exponent it would be an integer, which may not fit.
std::string toml_number(double value) {
  auto digits = digits_of(value);
  if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
  if (const auto zero = digits.find("e-0"); zero != std::string::npos) digits.erase(zero + 2, 1);  // 1e-08
  return digits;
}

/// A basic string of TOML.
std::string toml_text(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      result += {'\\', letter};
    } else if (code < 0x20 || code == 0x7f) {
      result += fmt::format("\\u{:04X}", code);
    } else {
      result += letter;
    }
  }
  return result + "\"";
}

struct DescribeAllowed {
  std::string operator()(const AnyText& text) const {
    return text.may_be_empty ? "any text" : "any text but none";
  }
  std::string operator()(const OneOf& choice) const { return base::alternatives(choice.names); }
  std::string operator()(const Integers& range) const {
    if (range.most == std::numeric_limits<std::int64_t>::max())
      return fmt::format("at least {}", range.least);
    return fmt::format("{} to {}", range.least, range.most);
  }
  std::string operator()(const OptionRange& range) const { return describe_numbers(range); }
  std::string operator()(const YesOrNo& /*unused*/) const { return "true or false"; }
};

struct WriteSlot {
  std::string operator()(const std::string* text) const { return toml_text(*text); }
  std::string operator()(const std::int64_t* integer) const { return std::to_string(*integer); }
  std::string operator()(const double* number) const { return toml_number(*number); }
  std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }
};

}  // namespace

std::string FieldRow::name() const {
  return table.empty() ? std::string(key) : fmt::format("{}.{}", table, key);
}

const std::vector<FieldRow>& field_table() {
  static const auto table = make_field_table();
  return table;
}

const std::vector<std::string>& table_names() {
  static const auto names = [] {
    std::vector<std::string> result;
    for (const auto& row : field_table()) {
      if (!row.table.empty() && (result.empty() || result.back() != row.table))
        result.emplace_back(row.table);
    }
    return result;
  }();
  return names;
}

bool FieldRow::applies_to(const Recipe& recipe) const {
  if (only_for.empty()) return true;
  const auto chosen = [&](std::string_view name) {
    if (name == kControls) return recipe.control.kind != "none";
    if (table == "model") return name == recipe.model.name;
    if (table == "schedule") return name == recipe.schedule.name;
    if (table == "optimizer") return name == recipe.optimizer.name;
    if (table == "control") return name == recipe.control.kind;
    throw std::logic_error("a table of the recipe without a choice has fields for some of them");
  };
  return std::ranges::any_of(only_for, chosen);
}

const FieldRow* find_row(std::string_view table, std::string_view key) {
  if (table == "optimizer" && key == "damp_decay") key = "damp_weight_decay";  // as it was called once
  const auto& rows = field_table();
  const auto found =
      std::ranges::find_if(rows, [&](const FieldRow& row) { return row.table == table && row.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

const FieldRow* find_row(std::string_view name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return find_row("", name);
  return find_row(name.substr(0, dot), name.substr(dot + 1));
}

std::vector<std::string> fields_with_key(std::string_view key) {
  std::vector<std::string> names;
  for (const auto& row : field_table()) {
    if (row.key == key) names.push_back(row.name());
  }
  return names;
}

std::string describe(const Allowed& allowed) { return std::visit(DescribeAllowed{}, allowed); }

std::string to_toml(const Slot& slot) { return std::visit(WriteSlot{}, slot); }

// ---- recipes as text -----------------------------------------------------------------------------------

namespace {

struct SlotType {
  std::string operator()(const std::string* /*unused*/) const { return "text"; }
  std::string operator()(const std::int64_t* /*unused*/) const { return "integer"; }
  std::string operator()(const double* /*unused*/) const { return "number"; }
  std::string operator()(const bool* /*unused*/) const { return "true or false"; }
};

std::vector<Field> make_recipe_fields() {
  Recipe defaults;
  std::vector<Field> fields;
  for (const auto& row : field_table()) {
    const auto slot = row.slot(defaults);
    const bool says_more =
        !std::holds_alternative<AnyText>(row.allowed) && !std::holds_alternative<YesOrNo>(row.allowed);
    const auto* const integers = std::get_if<Integers>(&row.allowed);
    const bool is_open = integers != nullptr && integers->most >= kMillion;  // no limit that anyone meets
    const auto allowed = is_open     ? fmt::format(" (at least {})", integers->least)
                         : says_more ? fmt::format(" ({})", describe(row.allowed))
                                     : "";
    const auto only_for = row.only_for.empty() ? "" : fmt::format("{}: ", fmt::join(row.only_for, ", "));
    fields.push_back({row.name(), std::visit(SlotType{}, slot), to_toml(slot),
                      fmt::format("{}{}{}.", only_for, row.meaning, allowed)});
  }
  return fields;
}

}  // namespace

std::string to_toml(const Recipe& recipe) {
  auto copy = recipe;  // the table hands out places to write to
  std::string text;
  std::string_view table;
  for (const auto& row : field_table()) {
    if (row.table != table) {
      table = row.table;
      text += fmt::format("\n[{}]\n", table);
    }
    text += fmt::format("{} = {}\n", row.key, to_toml(row.slot(copy)));
  }
  return text;
}

const std::vector<Field>& recipe_fields() {
  static const auto fields = make_recipe_fields();
  return fields;
}

// ---- where recipes differ --------------------------------------------------------------------------------

bool may_change(std::string_view field) {
  constexpr std::array<std::string_view, 5> kFields = {"title", "data.root", "train.processes", "train.split",
                                                       "train.checkpoint_every"};
  return std::ranges::find(kFields, field) != kFields.end();
}

std::vector<Difference> differences(const Recipe& first, const Recipe& second) {
  auto a = first;  // the table hands out places to write to
  auto b = second;
  // Runs of older versions say 0 where they scaled the images of a folder to 224 pixels.
  for (auto* const recipe : {&a, &b})
    if (recipe->data.pixels == 0 && recipe->data.name.starts_with("folder:")) recipe->data.pixels = 224;
  std::vector<Difference> found;
  for (const auto& row : field_table()) {
    const auto name = row.name();
    auto in_a = to_toml(row.slot(a));
    auto in_b = to_toml(row.slot(b));
    // Other processes share the cores out anew.
    if (name == "train.threads" && a.train.processes != b.train.processes) continue;
    if (in_a != in_b && !may_change(name)) found.push_back({name, std::move(in_a), std::move(in_b)});
  }
  return found;
}

}  // namespace sadam::train
