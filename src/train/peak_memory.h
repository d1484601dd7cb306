// How much memory this process has held at most.
#pragma once

#include <cstdint>

namespace sadam::train {

/// Begins a new measurement, where the system allows it.
void reset_peak_memory();

/// Peak of resident memory since then (or since the process began), in bytes; 0 where the system does not
/// tell.
std::int64_t peak_memory();

}  // namespace sadam::train
