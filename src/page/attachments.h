// What lies beside the runs: pictures and tables that `sadam landscape`, `audit`, `theory` and `reproduce`
// have written.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/text_table.h"

namespace sadam::page {

using report::Json;

struct Attachments {
  Json pictures;  ///< `Picture` of web/src/data.ts
  Json sheets;    ///< `Sheet`
};

/// SVG, PNG and CSV files in these folders and below, but in no run's. Links are passed over. What is too
/// large is named and left out.
Attachments attachments_in(const std::vector<std::filesystem::path>& folders);

}  // namespace sadam::page
