// Grids: one recipe with several values of some fields, every combination a run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "reproduce/plan.h"
#include "reproduce/table_recipe.h"

namespace sadam::reproduce {

/// The most runs that a grid may have: more are a slip of the finger.
inline constexpr std::size_t kMostRuns = 1000;

struct SweptField {
  std::string field;           ///< "optimizer.lr"
  std::vector<Change> values;  ///< "optimizer.lr=1e-4", …
};

/// What `sadam train` is asked for.
struct SweepRequest {
  std::string file;               ///< a recipe; "" for none
  std::string text;               ///< of the file
  std::vector<std::string> sets;  ///< "optimizer.lr=1e-4,1e-3"
  std::string name;               ///< of the folder below the root; "": made from recipe and swept fields
  std::filesystem::path root = "runs";
};

/// The fields with several values: those of the file's [sweep], then those of the command line. There, commas
/// separate values, except in a title, a path, and text in quotes; brackets make a list of any field but the
/// title; and seeds may be ranges: 1-3. A later assignment to a field replaces an earlier one. Empty if there
/// is one run to make. Throws a UsageError for a list with nothing between two commas.
std::vector<SweptField> swept_fields(const SweepRequest& request);

/// Every combination, the last field changing fastest: a plan with one column, whose key is "". A field that
/// decides nothing for a run, such as optimizer.probes for AdamW, makes no second one of it. Throws a
/// UsageError that names the combination for what a recipe refuses, for a value that comes twice, and where
/// no field of the grid decides anything; and one for more than kMostRuns.
Plan plan_sweep(const SweepRequest& request, const std::vector<SweptField>& fields);

}  // namespace sadam::reproduce
