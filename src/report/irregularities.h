// What a reader of results has to know about how they came about.
#pragma once

#include <string>
#include <vector>

#include "report/run_summary.h"

namespace sadam::report {

/// A sentence for each kind of irregularity there is (steps skipped, divergence, probes that were not finite
/// or drowned in rounding), with the runs it is about. Empty if all went as it should.
std::vector<std::string> irregularities(const std::vector<const RunSummary*>& runs);

}  // namespace sadam::report
