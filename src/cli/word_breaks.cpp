#include "cli/word_breaks.h"

#include <unistd.h>

#include "base/terminal.h"
#include "report/text_table.h"

namespace sadam::cli {

WordBreaks::WordBreaks(std::ostream& stream, std::FILE* file)
    : stream_(stream), file_(file), target_(nullptr), flags_(stream.flags()) {
  if (isatty(fileno(file)) != 1) return;
  target_ = stream.rdbuf(this);
  stream.unsetf(std::ios_base::unitbuf);  // which would flush each word of a line
}

WordBreaks::~WordBreaks() {
  if (target_ == nullptr) return;
  sync();
  stream_.rdbuf(target_);
  stream_.flags(flags_);
}

bool WordBreaks::pass_on(const std::string& text) {
  return target_->sputn(text.data(), static_cast<std::streamsize>(text.size())) ==
         static_cast<std::streamsize>(text.size());
}

bool WordBreaks::take(char character) {
  if (character != '\n') {
    line_ += character;
    return true;
  }
  // Before this the line went back to its start.
  const auto start = line_.rfind('\r') + 1;
  line_.replace(start, std::string::npos,
                report::reflowed(line_.substr(start), base::terminal_columns(file_)));
  const bool passed = pass_on(line_ += '\n');
  line_.clear();
  const bool waits = (flags_ & std::ios_base::unitbuf) == 0;
  return passed && (waits || target_->pubsync() == 0);
}

WordBreaks::int_type WordBreaks::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
  const std::lock_guard lock(mutex_);
  return take(traits_type::to_char_type(character)) ? character : traits_type::eof();
}

std::streamsize WordBreaks::xsputn(const char* text, std::streamsize count) {
  const std::lock_guard lock(mutex_);
  for (std::streamsize i = 0; i < count; ++i)
    if (!take(text[i])) return i;
  return count;
}

int WordBreaks::sync() {
  const std::lock_guard lock(mutex_);
  const bool passed = pass_on(line_);
  line_.clear();
  return passed && target_->pubsync() == 0 ? 0 : -1;
}

}  // namespace sadam::cli
