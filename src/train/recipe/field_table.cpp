#include "train/recipe/field_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace sadam::train {
namespace {

constexpr std::int64_t million = 1'000'000;
constexpr std::int64_t billion = 1'000'000'000;
constexpr Numbers at_least_zero{0};
constexpr Numbers above_zero{.low = 0, .with_low = false};
constexpr Numbers zero_to_one{0, 1};
constexpr Numbers below_one{.low = 0, .high = 1, .with_high = false};

// NOLINTNEXTLINE(bugprone-macro-parentheses): a member cannot be put into parentheses
#define SADAM_FIELD(table, key) #table, #key, [](Recipe & recipe) -> Slot { return &recipe.table.key; }

std::vector<FieldRow> make_field_table() {
  return {
      {"", "title", [](Recipe& recipe) -> Slot { return &recipe.title; }, AnyText{},
       "What people call it; decides nothing"},
      {"", "seed", [](Recipe& recipe) -> Slot { return &recipe.seed; },
       Integers{0, std::numeric_limits<std::int64_t>::max()},
       "Fixes the first weights, the order of the images, dropout and the probes' directions"},

      {SADAM_FIELD(model, name), OneOf{{"qatnet", "resnet18"}}, "The network"},
      {SADAM_FIELD(model, bits), Integers{2, 8}, "qatnet: width of weights and activations, in bits"},
      {SADAM_FIELD(model, dropout), below_one, "qatnet: the part of the last layer's inputs that is dropped"},
      {SADAM_FIELD(model, weights), AnyText{},
       "A safetensors or .pth file to start from; a bare name is looked for here, then in data.root; empty "
       "for random "
       "weights"},

      {SADAM_FIELD(data, name), AnyText{.may_be_empty = false},
       "cifar10, cifar100, tinyimagenet, imagewoof, synthetic10, synthetic100 or folder:PATH"},
      {SADAM_FIELD(data, root), AnyText{.may_be_empty = false}, "The folder that holds the data sets"},
      {SADAM_FIELD(data, pixels), Integers{0, 4096},
       "Images are resized to so many pixels on a side; 0 for the data set's own size; "
       "qatnet takes 32, 64, 160 or 224"},
      {SADAM_FIELD(data, train_images), Integers{0, billion},
       "Train on so many images only, drawn evenly from the classes; 0 for all"},
      {SADAM_FIELD(data, test_images), Integers{0, billion},
       "Test on so many images only, drawn evenly from the classes; 0 for all"},

      {SADAM_FIELD(train, epochs), Integers{1, million}, "How often every image is seen"},
      {SADAM_FIELD(train, batch), Integers{1, million}, "Images in a batch"},
      {SADAM_FIELD(train, accumulate), Integers{1, million}, "Batches that make up one step"},
      {SADAM_FIELD(train, clip), at_least_zero,
       "Longer gradients are shortened to this length, after probing; 0 to leave them"},
      {SADAM_FIELD(train, threads), Integers{0, 4096}, "Threads; 0 for as many as there are cores"},
      {SADAM_FIELD(train, checkpoint_every), Integers{0, billion},
       "Steps between checkpoints, besides the one after each epoch; 0 for one a minute"},
      {SADAM_FIELD(train, evaluate_batch), Integers{1, million}, "Images evaluated at a time"},
      {SADAM_FIELD(train, device), AnyText{.may_be_empty = false}, "cpu, cuda or cuda:N"},
      {SADAM_FIELD(train, precision), OneOf{{"float32", "tf32", "bf16"}},
       "What steps are computed in on a GPU; probes are in float32 all the same"},
      {SADAM_FIELD(train, deterministic), YesOrNo{},
       "Whether a GPU may use only algorithms that give the same bits on every run"},

      {SADAM_FIELD(schedule, name), OneOf{{"constant", "cosine", "step", "inverse_power"}},
       "How the learning rate goes from step to step"},
      {SADAM_FIELD(schedule, warmup), Integers{0, billion},
       "Steps over which the learning rate first rises linearly from 0"},
      {SADAM_FIELD(schedule, floor), zero_to_one,
       "cosine: where it ends, as a fraction of the learning rate"},
      {SADAM_FIELD(schedule, every), Integers{1, million}, "step: epochs between drops"},
      {SADAM_FIELD(schedule, factor), at_least_zero, "step: what a drop multiplies the learning rate by"},
      {SADAM_FIELD(schedule, power), at_least_zero,
       "inverse_power: the learning rate goes as (1 + t)^(−power), t steps after the warm-up"},

      {SADAM_FIELD(optimizer, name), OneOf{{"sadam", "adamw", "prox_sgd"}}, "The optimizer"},
      {SADAM_FIELD(optimizer, preset), OneOf{{"default", "paper", "reference"}},
       "sadam: what the fields not given beside it are"},
      {SADAM_FIELD(optimizer, lr), at_least_zero, "Learning rate; 0.01 for prox_sgd unless given"},
      {SADAM_FIELD(optimizer, beta1), below_one, "sadam, adamw: decay rate of the average of the gradient"},
      {SADAM_FIELD(optimizer, beta2), below_one, "sadam, adamw: decay rate of the average of its square"},
      {SADAM_FIELD(optimizer, eps), at_least_zero, "sadam, adamw: added to the root of the second moment"},
      {SADAM_FIELD(optimizer, weight_decay), at_least_zero, "sadam, adamw: decoupled weight decay"},
      {SADAM_FIELD(optimizer, probes), Integers{1, 65535},
       "sadam: probes in a step, k: each is a forward pass"},
      {SADAM_FIELD(optimizer, radius), above_zero, "sadam: how far from the weights the probes look, δ"},
      {SADAM_FIELD(optimizer, damping), at_least_zero, "sadam: how hard ρ brakes, λ; 0 is AdamW"},
      {SADAM_FIELD(optimizer, directions), OneOf{{"sphere", "per_tensor", "rademacher", "step"}},
       "sadam: where the probes look; step goes with the statistic residual"},
      {SADAM_FIELD(optimizer, statistic), OneOf{{"variance", "unbiased_variance", "residual"}},
       "sadam: the formula of ρ"},
      {SADAM_FIELD(optimizer, brake), OneOf{{"exponential", "proximal"}}, "sadam: how ρ becomes a brake"},
      {SADAM_FIELD(optimizer, noise), OneOf{{"shared", "fresh"}},
       "sadam: whether the probes of a step see its dropout masks or draw their own"},
      {SADAM_FIELD(optimizer, bias_correction), OneOf{{"adamw", "reference", "none"}},
       "sadam, controls: how the zero start of Adam's averages is made up for"},
      {SADAM_FIELD(optimizer, interval), Integers{1, billion}, "sadam: probe every so many steps"},
      {SADAM_FIELD(optimizer, cap), above_zero, "sadam: ρ is cut off here"},
      {SADAM_FIELD(optimizer, lgi_eps), at_least_zero, "sadam: keeps ρ small where the loss is flat"},
      {SADAM_FIELD(optimizer, damp_decay), YesOrNo{},
       "sadam: whether the brake holds for the weight decay too"},
      {SADAM_FIELD(optimizer, group_by_group), YesOrNo{},
       "sadam: whether groups of parameters are probed one after the other"},
      {SADAM_FIELD(optimizer, momentum), below_one, "prox_sgd: heavy-ball momentum"},
      {SADAM_FIELD(optimizer, l1), at_least_zero, "prox_sgd: weight of the L1 penalty"},

      {SADAM_FIELD(control, kind), OneOf{{"none", "constant", "matched", "shuffled"}},
       "adamw: what multiplies the step, in place of a brake that answers to the loss"},
      {SADAM_FIELD(control, run), AnyText{}, "matched, shuffled: the folder of the S-Adam run that braked"},
      {SADAM_FIELD(control, brake), zero_to_one,
       "constant: the factor; matched: filled in with the mean brake of the run"},
  };
}

#undef SADAM_FIELD

std::string digits_of(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string describe_numbers(const Numbers& range) {
  const auto low = digits_of(range.low);
  const auto high = digits_of(range.high);
  const bool bounded = range.high != std::numeric_limits<double>::infinity();
  if (bounded && range.with_low && range.with_high) return low + " to " + high;
  const auto from = (range.with_low ? "at least " : "above ") + low;
  return bounded ? from + " and " + (range.with_high ? "at most " : "below ") + high : from;
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
    list += names[i];
  }
  return list;
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
  std::string operator()(const OneOf& choice) const { return listed(choice.names); }
  std::string operator()(const Integers& range) const {
    if (range.most == std::numeric_limits<std::int64_t>::max())
      return fmt::format("at least {}", range.least);
    return fmt::format("{} to {}", range.least, range.most);
  }
  std::string operator()(const Numbers& range) const { return describe_numbers(range); }
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

const FieldRow* find_row(std::string_view table, std::string_view key) {
  const auto& rows = field_table();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const FieldRow& row) { return row.table == table && row.key == key; });
  return found == rows.end() ? nullptr : &*found;
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

}  // namespace sadam::train
