#include "report/conditions.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/usage_error.h"

namespace sadam::report {
namespace {

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
  const auto last = named.back();
  named.pop_back();
  return named.empty() ? last : fmt::format("{} or {}", fmt::join(named, ", "), last);
}

}  // namespace

std::optional<double> number_in(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real && !std::isnan(*real) ? std::optional(*real) : std::nullopt;
}

Conditions::Conditions(const std::vector<std::string>& texts,
                       const std::function<std::size_t(const std::string&)>& index_of) {
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos)
      throw UsageError("--where takes field=value, such as optimizer.name=sadam, and not '" + text + "'");
    conditions_.push_back({.column = index_of(text.substr(0, equals)), .wanted = text.substr(equals + 1)});
  }
}

bool Conditions::hold_of(const std::vector<Cell>& row) {
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

std::vector<std::string> Conditions::unmet(const std::vector<Column>& columns) const {
  std::vector<std::string> sentences;
  for (const auto& condition : conditions_)
    if (!condition.met && !condition.seen.empty())
      sentences.push_back(columns[condition.column].key + " is " + alternatives(condition.seen));
  return sentences;
}

}  // namespace sadam::report
