#include <sadam/brake.h>

#include <cmath>

#include "option_names.h"

namespace sadam {

double brake(Brake form, double damping, double lgi) {
  switch (form) {
    case Brake::exponential:
      return std::exp(-damping * lgi);
    case Brake::proximal:
      return 1 / (1 + damping * lgi);
  }
  throw Error("brake: the form of the brake must be exponential or proximal.");
}

std::string to_string(Brake form) { return name_in(kBrakeNames, form); }

}  // namespace sadam
