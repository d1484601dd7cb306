// The paths on the function with two kinks, as an SVG picture.
#pragma once

#include <string>
#include <vector>

#include "kinks.h"

namespace demo {

/// Three panels: the paths over contour lines (with a close-up of the minimum), f − f* at each step, the
/// brake at each step. Readable on a light and on a dark page. `paths` are in the order of rows.h.
std::string picture(const std::vector<Path>& paths);

}  // namespace demo
