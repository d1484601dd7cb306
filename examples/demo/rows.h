// The order of the optimizers in tables and pictures.
#pragma once

#include <cstddef>

namespace demo {

/// Rows that are spoken of: the one the others are compared with, S-Adam as it comes, its control, and the
/// two that take the slope out.
constexpr std::size_t adamw_row = 0;
constexpr std::size_t prox_sgd_row = 1;
constexpr std::size_t sadam_row = 2;
constexpr std::size_t control_row = 3;
constexpr std::size_t residual_row = 6;
constexpr std::size_t step_row = 7;

}  // namespace demo
