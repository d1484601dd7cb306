// Figures 1 to 3 of the paper: optimizers on a function with kinks, and Clarke's subdifferential.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/picture.h"
#include "report/text_table.h"

namespace sadam::reproduce {

struct LandscapeFigure {
  std::string key;  ///< "figure1": of its files
  report::Picture picture;
  report::TextTable numbers;  ///< of every point, for other programs
  report::TextTable results;  ///< where each optimizer ended; empty for a figure without any
};

struct LandscapeRequest {
  std::vector<std::string> only;  ///< keys; empty: all
  std::vector<std::string> sets;  ///< as --set has them, for every optimizer
  std::int64_t seed = 42;
  bool controls = true;
};

/// Throws a UsageError for a name that is no figure, with the nearest, and for a field that is none.
std::vector<LandscapeFigure> landscape_figures(const LandscapeRequest& request);

}  // namespace sadam::reproduce
