#include "report.h"

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace sadam::bench {
namespace {

// Characters, not bytes: cells contain "×" and "–".
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void Report::begin(const std::string& title, const std::vector<std::string>& columns) {
  std::cout << "\n### " << title << "\n\n" << std::flush;
  rows_ = {columns};
}

void Report::row(const std::vector<std::string>& cells) { rows_.push_back(cells); }

void Report::end() {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& cells : rows_)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      std::cout << "| " << rows_[r][i] << std::string(widths[i] - width_of(rows_[r][i]) + 1, ' ');
    std::cout << "|\n";
    if (r > 0) continue;
    for (const auto width : widths) std::cout << "|" << std::string(width + 2, '-');
    std::cout << "|\n";
  }
  std::cout << std::flush;
  rows_.clear();
}

std::string Report::verdict(double value, const std::optional<Budget>& budget, const char* unit) {
  if (!budget) return "";
  const bool at_most = budget->side == Budget::Side::at_most;
  const bool met = at_most ? value <= budget->limit : value >= budget->limit;
  ++judged_;
  if (!met) ++over_;
  std::ostringstream text;
  text << (at_most ? "≤ " : "≥ ") << budget->limit << unit << (met ? " ok" : " over");
  return text.str();
}

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string milliseconds(const Times& seconds) {
  const double value = spread_of(seconds).median * 1e3;
  return fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string with_quartiles(const Spread& spread, int digits) {
  return fixed(spread.median, digits) + " (" + fixed(spread.low, digits) + "–" + fixed(spread.high, digits) +
         ")";
}

std::string millions(double count) { return fixed(count / 1e6, count < 99.5e6 ? 1 : 0) + " M"; }

}  // namespace sadam::bench
