// Methods compared seed by seed: runs with one seed start from the same weights and see the same batches.
#pragma once

#include <cstddef>
#include <vector>

#include "report/text_table.h"
#include "reproduce/groups.h"

namespace sadam::reproduce {

/// What each method of a column is above or below the baseline, its own controls and the cosine schedule:
/// mean differences over the seeds that both have, and their standard errors. Comparisons with fewer than two
/// common seeds are left out.
report::TextTable paired_differences(const TableRecipe& table, const std::vector<Group>& groups,
                                     std::size_t column);

}  // namespace sadam::reproduce
