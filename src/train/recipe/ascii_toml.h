// TOML in ASCII alone.
#pragma once

#include <string>
#include <string_view>

namespace sadam::train {

/// The same document, with the characters outside ASCII written as escapes; in comments they become question
/// marks. Lines stay where they are. `origin` names the text in messages. Throws a UsageError for what is not
/// UTF-8 and for characters outside ASCII that stand outside quotes.
///
/// Why: the tables by which toml++ 3.3 tells white space from other characters outside ASCII have holes in
/// them, where it runs into undefined behaviour (an ü in a quoted name is enough). It is not shown any.
std::string ascii_toml(std::string_view text, std::string_view origin);

}  // namespace sadam::train
