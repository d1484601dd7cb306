// The table: the paper's numbers beside ours.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/text_table.h"
#include "reproduce/plan.h"

namespace sadam::reproduce {

/// One column of the paper's table, as a table of its own: a row for each method and control.
struct Block {
  std::string title;
  report::TextTable table;
  std::string convergence;  ///< what the convergence times mean here; "" where there are none
};

/// From whatever runs are there. Columns without a single finished epoch are left out.
std::vector<Block> render(const Plan& plan);

/// Everything a person wants to read: blocks, what convergence means, what differs from the paper.
std::string to_report(const Plan& plan, const std::map<std::size_t, std::string>& unavailable, bool markdown);

/// All blocks as one table, for other programs.
report::TextTable to_flat(const Plan& plan);

}  // namespace sadam::reproduce
