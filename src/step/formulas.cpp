// The public functions of the formulas and of the options' names.
#include <sadam/bias_correction.h>
#include <sadam/brake.h>
#include <sadam/directions.h>
#include <sadam/statistic.h>

#include "kernels/lgi.h"
#include "step/option_names.h"

namespace sadam {

double lgi(Statistic statistic, const std::vector<double>& differences, const std::vector<double>& slopes,
           double eps) {
  if (differences.empty()) throw Error("lgi: there is no difference to judge: evaluate at least one probe.");
  if (!is_in(kStatisticNames, statistic))
    throw Error("lgi: the statistic must be variance, unbiased_variance or residual.");
  if (statistic == Statistic::residual && slopes.size() != differences.size())
    throw Error("lgi: the residual statistic needs one slope for each difference.");
  return kernels::lgi_of(
      statistic, {differences.data(), slopes.data(), static_cast<std::int64_t>(differences.size())}, eps);
}

double step_lgi(double change, double slope) { return kernels::step_lgi_of(change, slope); }

double brake(Brake form, double damping, double lgi) {
  if (!is_in(kBrakeNames, form)) throw Error("brake: the form of the brake must be exponential or proximal.");
  return kernels::brake_of(form, damping, lgi);
}

std::string to_string(Statistic statistic) { return name_in(kStatisticNames, statistic); }
std::string to_string(Brake form) { return name_in(kBrakeNames, form); }
std::string to_string(Directions directions) { return name_in(kDirectionsNames, directions); }
std::string to_string(ProbeNoise noise) { return name_in(kProbeNoiseNames, noise); }
std::string to_string(BiasCorrection correction) { return name_in(kBiasCorrectionNames, correction); }

}  // namespace sadam
