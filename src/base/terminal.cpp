#include "base/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace sadam::base {
namespace {

winsize size_of(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0) size = {};
  if (size.ws_col == 0) size.ws_col = 80;
  if (size.ws_row == 0) size.ws_row = 24;
  return size;
}

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

const char* code_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::strong:
      return "1";
    case Tone::good:
      return "32";
    case Tone::notice:
      return "33";
    case Tone::bad:
      return "31";
  }
  return "";
}

}  // namespace

std::size_t terminal_columns(std::FILE* stream) { return size_of(stream).ws_col; }
std::size_t terminal_rows(std::FILE* stream) { return size_of(stream).ws_row; }

std::size_t help_width(std::FILE* stream) { return terminal_columns(stream) < 80 ? 60 : 80; }

bool is_live(std::FILE* stream) {
  return is_set("TERM") && std::string_view(std::getenv("TERM")) != "dumb" && isatty(fileno(stream)) == 1;
}

bool has_colour(std::FILE* stream) { return is_live(stream) && !is_set("NO_COLOR"); }

std::string painted(std::string_view text, Tone tone, bool colour) {
  if (!colour || tone == Tone::plain || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code_of(tone), text);
}

}  // namespace sadam::base
