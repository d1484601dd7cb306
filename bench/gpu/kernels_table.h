#pragma once

#include <cstdint>

#include "report.h"

namespace sadam::bench {

/// The bandwidth of the GPU's kernels on `count` parameters, beside that of the device's own copy.
void kernels_table(Report& report, std::int64_t count, int rounds);

}  // namespace sadam::bench
