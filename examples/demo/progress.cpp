#include "progress.h"

#include <unistd.h>

#include <iostream>

namespace demo {

namespace {

constexpr auto start_of_empty_line = "\r\033[K";

}  // namespace

Progress::Progress(std::size_t total) : total_(total), visible_(isatty(STDERR_FILENO) == 1) {}

void Progress::next(const std::string& what) {
  ++begun_;
  if (visible_)
    std::cerr << start_of_empty_line << "  training " << begun_ << " of " << total_ << ": " << what
              << std::flush;
}

void Progress::clear() {
  if (visible_) std::cerr << start_of_empty_line << std::flush;
}

}  // namespace demo
