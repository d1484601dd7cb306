// The terminal behind a stream: how wide it is, whether a line can be redrawn, and colour where it is wanted.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace sadam::base {

/// The columns of the terminal behind a stream; 80 where there is none.
std::size_t terminal_columns(std::FILE* stream);
/// Its rows; 24 where there is none.
std::size_t terminal_rows(std::FILE* stream);

/// How wide a help is there: 80 columns, or 60 where the terminal has fewer.
std::size_t help_width(std::FILE* stream);

/// Whether it is a terminal that understands escape sequences: TERM is set and not "dumb".
bool is_live(std::FILE* stream);

/// Whether it is live and NO_COLOR is not set, or empty.
bool has_colour(std::FILE* stream);

/// What a text is to its reader. Colour never says anything that the words do not say.
enum class Tone { plain, strong, good, notice, bad };

/// The text between the escape sequences of its tone, or as it is where there is no colour.
std::string painted(std::string_view text, Tone tone, bool colour);

/// Clears what a redrawn line may have left, also where the terminal has become narrower meanwhile and has
/// broken it: whoever redraws leaves the cursor at the start of the line (`kBackToStart`).
inline constexpr std::string_view kClearBelow = "\r\033[J";
inline constexpr std::string_view kBackToStart = "\r";

}  // namespace sadam::base
