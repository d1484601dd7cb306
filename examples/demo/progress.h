// One line on a terminal that says how far the work is; nothing where there is no terminal.
#pragma once

#include <cstddef>
#include <string>

namespace demo {

class Progress {
 public:
  explicit Progress(std::size_t total);

  /// The next piece of work begins.
  void next(const std::string& what);

  /// Takes the line away.
  void clear();

 private:
  std::size_t total_;
  std::size_t begun_ = 0;
  bool visible_;
};

}  // namespace demo
