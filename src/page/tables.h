// The tables of the paper, and ours, that runs belong to: as `sadam reproduce --show` has them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "page/live_run.h"

namespace sadam::page {

/// What its table says of a run.
struct InTable {
  std::string title;                 ///< "S-Adam k=2, authors' code"
  std::vector<std::string> differs;  ///< from the paper
};

struct Tables {
  Json tables = Json::array();                    ///< `Table` of web/src/data.ts
  std::unordered_map<std::string, InTable> runs;  ///< by id
};

/// Those that found_tables() finds.
Tables tables_of(const std::vector<const LiveRun*>& runs);

}  // namespace sadam::page
