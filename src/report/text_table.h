// Tables and sentences, laid out in one place: for a terminal, for a document, for other programs.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/terminal.h"

namespace sadam::report {

/// What a cell means to a program: nothing, a truth, a number or a text.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// A value, and how a person reads it.
struct Cell {
  Value value;
  std::string text = "–";
  base::Tone tone = base::Tone::plain;

  /// "–" for a person, nothing (CSV) or null (JSON) for a program.
  Cell() = default;
  Cell(std::string words);
  Cell(const char* words) : Cell(std::string(words)) {}
  Cell(Value what, std::string words) : value(std::move(what)), text(std::move(words)) {}

  /// What is not finite is "nan".
  static Cell number(double value, int digits);
  static Cell count(std::int64_t value);
  static Cell count(std::integral auto value) { return count(static_cast<std::int64_t>(value)); }
  Cell in(base::Tone how) && {
    tone = how;
    return std::move(*this);
  }
};

enum class Align { left, right };

/// The importance from which on a column is worth more than all of a long name.
inline constexpr int kOfResults = 15;

struct Column {
  std::string key;    ///< its name in CSV and JSON
  std::string title;  ///< what stands above it elsewhere
  Align align = Align::left;
  int importance = 0;  ///< above 0: narrowed() may leave it out, the least important first
};

struct TextTable {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;

  /// Throws an Error if the row has not one cell for each column.
  void add(std::vector<Cell> row);
};

/// Some of its columns, by their numbers.
TextTable only_columns(const TextTable& table, const std::vector<std::size_t>& columns);

/// The table without the columns, the first apart, in which no cell has a value.
TextTable without_empty_columns(const TextTable& table);

/// The table without its least important columns, until it fits into `width` (0: all do) or none is left that
/// may go. Before results go, the first column loses the middle of long texts.
TextTable narrowed(TextTable table, std::size_t width);

/// Padded columns under a rule. Control characters are shown as '?'. What is wider than `width` columns (0:
/// nothing is) is made to fit: the words of a last column of prose are wrapped, or else the columns are split
/// into blocks, each of which begins with the first column. With `colour`, cells have their tones.
std::string to_text(const TextTable& table, std::size_t width = 0, bool colour = false);
/// A GitHub-flavoured Markdown table, readable as it is.
std::string to_markdown(const TextTable& table);
/// Keys first, then a line a row, of values rather than texts; quoted as RFC 4180 says. Numbers keep every
/// digit.
std::string to_csv(const TextTable& table);
/// An array of objects, one a row. A number that is not finite becomes null.
std::string to_json(const TextTable& table);

/// For those who put values into something larger. Keeps the order in which keys were given.
using Json = nlohmann::ordered_json;
Json json_value(const Value& value);
/// Names of folders need not be UTF-8, JSON must be: what is not is replaced.
std::string write_json(const Json& json);

/// Lines of at most `width`, as `measure` has it, broken between words; a longer word has a line of its own.
/// Always at least one line.
std::vector<std::string> wrapped_lines(std::string_view text, double width,
                                       const std::function<double(const std::string&)>& measure);

/// The text with line feeds between those lines, each line but the first behind `indent`. A width of 0 breaks
/// nothing.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent = "");

/// A text of paragraphs and indented lines made to fit: paragraphs are wrapped anew, and an indented line
/// that is too long goes on below, two columns further in. A line that fits stays as it is.
std::string reflowed(std::string_view text, std::size_t width);

}  // namespace sadam::report
