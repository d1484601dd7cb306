// Range checks of options, each a sentence.
#pragma once

#include <sadam/error.h>
#include <torch/optim/optimizer.h>

#include <cmath>
#include <sstream>
#include <string>

namespace sadam::optim {

template <class T>
void require(bool holds, const std::string& where, const char* option, const T& given, const char* allowed) {
  if (holds) return;
  std::ostringstream sentence;
  sentence << where << option << " is " << given << ": it must be " << allowed << ".";
  throw Error(sentence.str());
}

inline void require_at_least_zero(double value, const std::string& where, const char* option) {
  require(std::isfinite(value) && value >= 0, where, option, value, "a finite number that is at least 0");
}

inline void require_fraction(double value, const std::string& where, const char* option) {
  require(value >= 0 && value < 1, where, option, value, "at least 0 and below 1");
}

inline void refuse_amsgrad(bool amsgrad, const std::string& where) {
  if (amsgrad) throw Error(where + "amsgrad is not supported: leave it false.");
}

/// The options as those of the given optimizer.
template <class Options>
const Options& options_as(const torch::optim::OptimizerOptions& options, const std::string& where,
                          const char* type) {
  const auto* typed = dynamic_cast<const Options*>(&options);
  if (!typed)
    throw Error(where + "the options are those of another optimizer: give the group sadam::" + type + ".");
  return *typed;
}

}  // namespace sadam::optim
