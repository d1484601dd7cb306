// Outside text, fit for a message.
#pragma once

#include <string>
#include <string_view>

namespace sadam::base {

/// In quotes, printable (other bytes as \x1b), cut off where it gets long.
std::string in_quotes(std::string_view text);

}  // namespace sadam::base
