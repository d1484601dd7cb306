// The name somebody probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sadam::base {

/// The valid name nearest to `name` by edit distance (a swap of neighbours counts as one edit; case is
/// ignored), else one that is short for it or that it is short for ("eval" and "evaluate"), or "" if none is
/// near enough to be worth suggesting.
std::string nearest(std::string_view name, std::span<const std::string> valid);

/// "; did you mean 'probes'?" or, where nothing is near, "; valid are: adamw, prox_sgd, sadam". Where several
/// are equally near: all names if they are few, else "; did you mean 'beta1' or 'beta2'?".
std::string suggestion(std::string_view name, std::span<const std::string> valid);

}  // namespace sadam::base
