// Runs that are there already: unlike ones never meet in one table.
#pragma once

#include "reproduce/plan.h"

namespace sadam::reproduce {

/// What is to be done with the runs, which decides the way out of a refusal.
enum class Purpose {
  train,  ///< other runs can be made elsewhere
  show,   ///< those that are there are wanted, by the options that made them
};

bool is_begun(const PlannedRun& run);

/// Throws a UsageError if a run that is there was made by another recipe than the plan's.
void check_same_recipe(const PlannedRun& run, Purpose purpose);
void check_same_recipes(const Plan& plan, Purpose purpose);

}  // namespace sadam::reproduce
