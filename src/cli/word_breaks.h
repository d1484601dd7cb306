// Sentences on a terminal: broken between words, and not where the line happens to end.
#pragma once

#include <cstdio>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>

namespace sadam::cli {

/// While it lives, a line of `stream` that is wider than the terminal behind `file` is broken between words.
/// Where there is no terminal nothing changes. What is flushed before its end, such as a line that is drawn
/// again and again, passes as it is.
class WordBreaks : public std::streambuf {
 public:
  WordBreaks(std::ostream& stream, std::FILE* file);
  ~WordBreaks() override;
  WordBreaks(const WordBreaks&) = delete;
  WordBreaks& operator=(const WordBreaks&) = delete;

 protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  bool take(char character);
  bool pass_on(const std::string& text);

  std::ostream& stream_;
  std::FILE* file_;
  std::streambuf* target_;  ///< null: there is no terminal
  std::ios_base::fmtflags flags_;
  std::string line_;  ///< as far as it has come
  std::mutex mutex_;  ///< libtorch warns from threads of its own
};

}  // namespace sadam::cli
