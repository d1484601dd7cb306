// How much room there is for what is printed.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>

#include "train/progress.h"

namespace sadam::cli {

/// The columns of the terminal behind the standard output; 0, for no limit, where it goes elsewhere.
inline std::size_t output_width() { return isatty(STDOUT_FILENO) == 1 ? train::terminal_columns(stdout) : 0; }

}  // namespace sadam::cli
