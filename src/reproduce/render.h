// The table: the paper's numbers beside ours.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/text_table.h"
#include "reproduce/plan.h"
#include "reproduce/results.h"

namespace sadam::reproduce {

/// One column of the paper's table, or one of its means, as a table of its own: a row for each method and
/// control. Columns of which nothing is known are left out.
struct Block {
  std::string title;
  report::TextTable table;
  std::string convergence;        ///< what the convergence times mean here; "" where there are none
  report::TextTable differences;  ///< seed by seed; no rows where there is one seed
};

/// From whatever runs are there: columns, then means. Those without a single finished epoch are left out.
std::vector<Block> render(const Plan& plan);

/// What a report is made for.
struct ReportStyle {
  bool markdown = false;
  std::size_t width = 0;  ///< columns of the terminal; 0 where there is no limit
};

/// Everything a person wants to read: blocks, what convergence means, what went wrong in the runs, what
/// differs from the paper. `unavailable`: columns that could not be run, and why.
std::string to_report(const Plan& plan, const std::map<std::size_t, std::string>& unavailable,
                      const ReportStyle& style);

/// What the rows of the controls are, where there are any; else "".
std::string controls_note(const std::vector<Group>& groups);
/// How many of so many intervals miss 0 by chance; "" for none.
std::string comparisons_note(std::size_t comparisons);

/// What a report ends with: what could not be run, what went wrong in the runs, what differs from the paper
/// or from the table as it is written.
std::string closing_text(const Plan& plan, const Groups& groups,
                         const std::map<std::size_t, std::string>& unavailable, const ReportStyle& style);

/// All blocks as one table, for other programs: keys, numbers and truths, no text to be taken apart.
report::TextTable to_flat(const Plan& plan);

}  // namespace sadam::reproduce
