// A GPU's memory that runs out, in the terms of a recipe.
#pragma once

#include <sadam/error.h>

#include <exception>

#include "step/out_of_memory.h"

namespace sadam::train {

/// What `work` returns. Where the memory of a GPU runs out, throws an Error that says what to do.
template <class Work>
auto within_memory(Work&& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (!step::is_out_of_memory(error)) throw;
    throw Error(
        "the GPU's memory is used up: set a smaller train.batch or train.evaluate_batch, or use --device "
        "cpu.");
  }
}

}  // namespace sadam::train
