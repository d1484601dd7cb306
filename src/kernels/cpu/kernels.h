// The CPU's kernels by name, for the table in table.cpp; all others take them from there.
#pragma once

#include "kernels/kernels.h"

namespace sadam::kernels {

SADAM_DECLARE_KERNELS

}  // namespace sadam::kernels
