// Text for people: names from outside made safe to print, guesses at what was meant, the room a text takes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sadam::base {

/// In quotes, printable (other bytes as \x1b), cut off where it gets long.
std::string in_quotes(std::string_view text);

/// The text with every control character (line feeds and escape sequences too) replaced by '?', so that a
/// name from outside can neither break a table nor drive the terminal.
std::string printable(std::string_view text);

/// Without the spaces at its ends.
std::string_view trimmed(std::string_view text);

/// The valid name nearest to `name` by edit distance (a swap of neighbours counts as one edit; case is
/// ignored), else one that is short for it or that it is short for ("eval" and "evaluate"), or "" if none is
/// near enough to be worth suggesting.
std::string nearest(std::string_view name, std::span<const std::string> valid);

/// How a sentence about a wrong name ends: "; did you mean 'probes'?" or, where nothing is near, "; valid
/// are: adamw, prox_sgd, sadam." Where several are equally near: all names if they are few, else "; did you
/// mean 'beta1' or 'beta2'?".
std::string suggestion(std::string_view name, std::span<const std::string> valid);

/// "a", "a or b", "a, b or c".
std::string alternatives(std::span<const std::string> names);

/// One character of a UTF-8 text: how many bytes it has and how many columns it takes on a terminal.
struct Glyph {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

/// The first character of a text that is not empty. A byte that is not UTF-8 counts as one character.
Glyph first_glyph(std::string_view text);

/// The columns a UTF-8 text takes on a terminal; escape sequences, such as colours, take none.
std::size_t display_width(std::string_view text);

}  // namespace sadam::base
