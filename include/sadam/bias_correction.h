// How the zero start of Adam's averages is made up for.
#pragma once

#include <string>

namespace sadam {

/// The three forms in use.
enum class BiasCorrection {
  adamw,      ///< m/(1−β1^t) over √(v/(1−β2^t)) + ε, as torch's AdamW
  reference,  ///< step lr·√(1−β2^t)/(1−β1^t), ε added to the uncorrected √v, as the authors' code
  none,       ///< m over √v + ε: Algorithm 1 of the paper. The first steps are several times longer
};

/// The name used in files and messages.
std::string to_string(BiasCorrection correction);

}  // namespace sadam
