#include "report/text_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/text.h"

namespace sadam::report {
namespace {

using Texts = std::vector<std::string>;
using Clean = std::function<std::string(std::string_view)>;

std::string pad(const std::string& text, std::size_t width, Align align,
                base::Tone tone = base::Tone::plain) {
  const std::string space(width - std::min(width, base::display_width(text)), ' ');
  const auto shown = base::painted(text, tone, true);
  return align == Align::left ? shown + space : space + shown;
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

/// Cut to so many columns. Names that were made from a recipe differ at their ends, so most is left of that.
std::string without_middle(std::string_view text, std::size_t columns) {
  if (base::display_width(text) <= columns) return std::string(text);
  std::string head;
  while (base::display_width(head) < columns / 3) {
    const auto bytes = base::first_glyph(text).bytes;
    head += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  const auto room = columns - base::display_width(head) - 1;
  while (base::display_width(text) > room) text.remove_prefix(base::first_glyph(text).bytes);
  return (head += "…") += text;
}

std::vector<std::string> lines_within(std::string_view text, std::size_t width) {
  return wrapped_lines(text, static_cast<double>(width), [](const std::string& line) {
    return static_cast<double>(base::display_width(line));
  });
}

constexpr std::string_view kGap = "  ";

/// Of some columns, side by side.
std::size_t width_of(const std::vector<std::size_t>& columns, const std::vector<std::size_t>& widths) {
  std::size_t width = kGap.size() * (columns.size() - 1);
  for (const auto i : columns) width += widths[i];
  return width;
}

/// Some columns of the lines, the first line above a rule. Colour only where each row is one line.
std::string block_text(const TextTable& table, const std::vector<Texts>& lines,
                       const std::vector<std::size_t>& widths, const std::vector<std::size_t>& columns,
                       bool colour = false) {
  colour = colour && lines.size() == table.rows.size() + 1;
  std::string out;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (const auto i : columns) {
      if (i != columns.front()) line += kGap;
      line += cell(i);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  for (std::size_t l = 0; l < lines.size(); ++l) {
    add_line([&](std::size_t i) {
      const auto tone = colour && l > 0 ? table.rows[l - 1][i].tone : base::Tone::plain;
      return pad(lines[l][i], widths[i], table.columns[i].align, tone);
    });
    if (l > 0) continue;
    add_line([&](std::size_t i) {
      std::string rule;
      for (std::size_t c = 0; c < widths[i]; ++c) rule += "─";
      return rule;
    });
  }
  return out;
}

/// The lines with one column broken between words; what goes on below has nothing in the others.
std::vector<Texts> with_wrapped(const std::vector<Texts>& lines, std::size_t column, std::size_t width) {
  std::vector<Texts> result;
  for (const auto& texts : lines) {
    auto line = texts;
    for (auto& part : lines_within(texts[column], width)) {
      line[column] = std::move(part);
      result.push_back(line);
      line.assign(texts.size(), "");
    }
  }
  return result;
}

/// The columns in groups that fit, each of which begins with the first column.
std::vector<std::vector<std::size_t>> blocks_within(std::size_t width,
                                                    const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::size_t>> blocks;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    if (!blocks.empty()) {
      auto more = blocks.back();
      more.push_back(i);
      if (width_of(more, widths) <= width) {
        blocks.back() = std::move(more);
        continue;
      }
    }
    blocks.push_back({0, i});
  }
  if (blocks.empty()) blocks.push_back({0});
  return blocks;
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
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>)
          return "";
        else if constexpr (std::is_same_v<Held, double>)
          return std::isnan(held) ? "nan" : fmt::format("{}", held);
        else
          return fmt::format("{}", held);
      },
      value);
}

}  // namespace

Cell::Cell(std::string words) : value(words), text(std::move(words)) {}

Cell Cell::number(double value, int digits) { return {value, base::decimal(value, digits)}; }

Cell Cell::count(std::int64_t value) { return {value, fmt::format("{}", value)}; }

void TextTable::add(std::vector<Cell> row) {
  if (row.size() != columns.size())
    throw Error(
        fmt::format("a row of {} cells does not fit a table of {} columns", row.size(), columns.size()));
  rows.push_back(std::move(row));
}

TextTable only_columns(const TextTable& table, const std::vector<std::size_t>& columns) {
  TextTable result;
  for (const auto i : columns) result.columns.push_back(table.columns[i]);
  for (const auto& row : table.rows) {
    auto& cells = result.rows.emplace_back();
    for (const auto i : columns) cells.push_back(row[i]);
  }
  return result;
}

TextTable without_empty_columns(const TextTable& table) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (i == 0 || std::ranges::any_of(table.rows, [&](const auto& row) {
          return !std::holds_alternative<std::monostate>(row[i].value);
        }))
      kept.push_back(i);
  return only_columns(table, kept);
}

TextTable narrowed(TextTable table, std::size_t width) {
  auto widths = widths_of(texts_of(table, base::printable), 0);
  std::vector<std::size_t> kept(widths.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  // Those that must stay come last in this order.
  const auto goes_first = [&](std::size_t a, std::size_t b) {
    const auto x = table.columns[a].importance;
    const auto y = table.columns[b].importance;
    return x > 0 && (y == 0 || x < y);
  };
  const auto leave_out = [&](int below) {
    while (width > 0 && !kept.empty() && width_of(kept, widths) > width) {
      const auto least = std::ranges::min_element(kept, goes_first);
      const auto importance = table.columns[*least].importance;
      if (importance == 0 || importance >= below) break;
      kept.erase(least);
    }
  };
  leave_out(kOfResults);
  if (width == 0 || kept.empty() || width_of(kept, widths) <= width) return only_columns(table, kept);
  constexpr std::size_t kNarrowestName = 24;
  const auto whole = std::exchange(widths[0], std::min(widths[0], kNarrowestName));
  leave_out(std::numeric_limits<int>::max());
  const auto rest = width_of(kept, widths) - widths[0];
  const auto room = std::min(whole, std::max(kNarrowestName, width - std::min(width, rest)));
  for (auto& row : table.rows) row[0].text = without_middle(base::printable(row[0].text), room);
  return only_columns(table, kept);
}

std::string to_text(const TextTable& table, std::size_t width, bool colour) {
  if (table.columns.empty()) return "";
  const auto lines = texts_of(table, base::printable);
  const auto widths = widths_of(lines, 0);
  std::vector<std::size_t> all(widths.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  // Prose can be as narrow as this; where even that does not fit beside the others, it is a block of its own.
  constexpr std::size_t kNarrowestProse = 24;
  const auto last = all.size() - 1;
  const bool ends_in_prose = last > 0 && table.columns[last].align == Align::left;
  const auto rest_of = [&](const std::vector<std::size_t>& block) {
    return width_of(block, widths) - widths[last];
  };
  const bool is_one = width == 0 || width_of(all, widths) <= width ||
                      (ends_in_prose && rest_of(all) + kNarrowestProse <= width);
  std::string out;
  for (const auto& block :
       is_one ? std::vector<std::vector<std::size_t>>{all} : blocks_within(width, widths)) {
    if (!out.empty()) out += '\n';
    if (width > 0 && ends_in_prose && block.back() == last && width_of(block, widths) > width) {
      const auto room = std::max(width, rest_of(block) + kNarrowestProse) - rest_of(block);
      const auto wrapped = with_wrapped(lines, last, room);
      out += block_text(table, wrapped, widths_of(wrapped, 0), block);
    } else {
      out += block_text(table, lines, widths, block, colour);
    }
  }
  return out;
}

std::string to_markdown(const TextTable& table) {
  const auto lines = texts_of(table, markdown_cell);
  const auto widths = widths_of(lines, 3);
  std::string out;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      out += fmt::format("| {} ", pad(lines[l][i], widths[i], table.columns[i].align));
    out += "|\n";
    if (l > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      out += fmt::format("| {}{} ", std::string(widths[i] - 1, '-'),
                         table.columns[i].align == Align::left ? '-' : ':');
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

std::string to_json(const TextTable& table) {
  auto rows = Json::array();
  for (const auto& row : table.rows) {
    auto object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i].key] = json_value(row[i].value);
    rows.push_back(std::move(object));
  }
  return write_json(rows);
}

Json json_value(const Value& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<Held, double>)
          return std::isfinite(held) ? Json(held) : Json();
        else
          return held;
      },
      value);
}

std::string write_json(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::vector<std::string> wrapped_lines(std::string_view text, double width,
                                       const std::function<double(const std::string&)>& measure) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto longer = lines.back().empty() ? std::string(word) : fmt::format("{} {}", lines.back(), word);
    if (lines.back().empty() || measure(longer) <= width)
      lines.back() = longer;
    else
      lines.emplace_back(word);
  }
  return lines;
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  if (width == 0) return std::string(text);
  const auto room = width - std::min(width, base::display_width(indent));
  std::string result;
  for (const auto& line : lines_within(text, room)) {
    if (!result.empty()) (result += '\n') += indent;
    result += line;
  }
  return result;
}

std::string reflowed(std::string_view text, std::size_t width) {
  std::vector<std::string_view> lines;
  for (;;) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  std::vector<std::string> result;
  for (std::size_t i = 0; i < lines.size();) {
    const auto indent = std::min(lines[i].find_first_not_of(' '), lines[i].size());
    if (indent > 0 || lines[i].empty()) {
      // The first line is given the room of those below it.
      const std::string deeper(indent + 2, ' ');
      result.push_back(base::display_width(lines[i]) <= width
                           ? std::string(lines[i])
                           : std::string(indent, ' ') + wrapped(lines[i].substr(indent), width, deeper));
      ++i;
      continue;
    }
    const auto is_prose = [](std::string_view line) { return !line.empty() && line[0] != ' '; };
    auto end = i;
    bool fits = true;
    std::string paragraph;
    for (; end < lines.size() && is_prose(lines[end]); ++end) {
      fits = fits && base::display_width(lines[end]) <= width;
      if (!paragraph.empty()) paragraph += ' ';
      paragraph += lines[end];
    }
    if (fits)
      result.insert(result.end(), lines.begin() + static_cast<std::ptrdiff_t>(i),
                    lines.begin() + static_cast<std::ptrdiff_t>(end));
    else
      result.push_back(wrapped(paragraph, width));
    i = end;
  }
  return fmt::format("{}", fmt::join(result, "\n"));
}

}  // namespace sadam::report
