#include <sadam/brake.h>

#include "../kernels/lgi.h"
#include "option_names.h"

namespace sadam {

double brake(Brake form, double damping, double lgi) {
  if (!is_in(kBrakeNames, form)) throw Error("brake: the form of the brake must be exponential or proximal.");
  return kernels::brake_of(form, damping, lgi);
}

std::string to_string(Brake form) { return name_in(kBrakeNames, form); }

}  // namespace sadam
