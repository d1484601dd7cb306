#include "report/text_table.h"

#include <algorithm>
#include <functional>
#include <type_traits>

#include <fmt/format.h>
#include <sadam/error.h>

#include "base/display_width.h"
#include "report/json.h"

namespace sadam::report {
namespace {

using Texts = std::vector<std::string>;
using Clean = std::function<std::string(std::string_view)>;

std::string pad(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, base::display_width(text)), ' ');
  return align == Align::left ? text + space : space + text;
}

/// Titles, then rows.
std::vector<Texts> texts_of(const TextTable& table, const Clean& clean) {
  std::vector<Texts> all(1);
  for (const auto& column : table.columns) all[0].push_back(clean(column.title));
  for (const auto& row : table.rows) {
    auto& texts = all.emplace_back();
    for (const auto& cell : row) texts.push_back(clean(cell.text));
  }
  return all;
}

std::vector<std::size_t> widths_of(const std::vector<Texts>& lines, std::size_t least) {
  std::vector<std::size_t> widths(lines[0].size(), least);
  for (const auto& texts : lines)
    for (std::size_t i = 0; i < texts.size(); ++i)
      widths[i] = std::max(widths[i], base::display_width(texts[i]));
  return widths;
}

/// In Markdown a bar ends a cell.
std::string markdown_cell(std::string_view text) {
  std::string result;
  for (const char c : base::printable(text)) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string csv_field(std::string text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
  return '"' + text + '"';
}

std::string csv_value(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return "";
        else
          return fmt::format("{}", held);
      },
      value);
}

}  // namespace

Cell::Cell(std::string words) : value(words), text(std::move(words)) {}

Cell Cell::number(double value, int digits) { return {value, fmt::format("{:.{}f}", value, digits)}; }

Cell Cell::count(std::int64_t value) { return {value, fmt::format("{}", value)}; }

void TextTable::add(std::vector<Cell> row) {
  if (row.size() != columns.size())
    throw Error(
        fmt::format("a row of {} cells does not fit a table of {} columns", row.size(), columns.size()));
  rows.push_back(std::move(row));
}

std::string to_text(const TextTable& table) {
  constexpr std::string_view gap = "  ";
  const auto lines = texts_of(table, base::printable);
  const auto widths = widths_of(lines, 0);
  std::string out;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) line += gap;
      line += pad(lines[l][i], widths[i], table.columns[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
    if (l > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) out += gap;
      for (std::size_t c = 0; c < widths[i]; ++c) out += "─";
    }
    out += '\n';
  }
  return out;
}

std::string to_markdown(const TextTable& table) {
  const auto lines = texts_of(table, markdown_cell);
  const auto widths = widths_of(lines, 3);
  std::string out;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      out += "| " + pad(lines[l][i], widths[i], table.columns[i].align) + ' ';
    out += "|\n";
    if (l > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      out +=
          "| " + std::string(widths[i] - 1, '-') + (table.columns[i].align == Align::left ? '-' : ':') + ' ';
    out += "|\n";
  }
  return out;
}

std::string to_csv(const TextTable& table) {
  std::string out;
  const auto add_line = [&](std::size_t fields, const auto& field) {
    for (std::size_t i = 0; i < fields; ++i) {
      if (i > 0) out += ',';
      out += csv_field(field(i));
    }
    out += '\n';
  };
  add_line(table.columns.size(), [&](std::size_t i) { return table.columns[i].key; });
  for (const auto& row : table.rows)
    add_line(row.size(), [&](std::size_t i) { return csv_value(row[i].value); });
  return out;
}

std::string to_json(const TextTable& table) { return write_json(json_rows(table)); }

}  // namespace sadam::report
