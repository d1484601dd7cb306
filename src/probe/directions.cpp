#include <sadam/directions.h>

#include "option_names.h"

namespace sadam {

std::string to_string(Directions directions) { return name_in(kDirectionsNames, directions); }
std::string to_string(ProbeNoise noise) { return name_in(kProbeNoiseNames, noise); }

}  // namespace sadam
