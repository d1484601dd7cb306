#include <cmath>

#include "kernels/cpu/kernels.h"

namespace sadam::kernels {

void inverse_lengths(const InverseLengths& launch) {
  for (const auto& segment : launch.segments) {
    const double squared =
        squared_norm({launch.direction.key(), segment.first, segment.count, launch.place.threads});
    const double length = std::sqrt(squared) + launch.added;
    *segment.inverse = length > 0 ? 1 / length : 0;
  }
}

}  // namespace sadam::kernels
