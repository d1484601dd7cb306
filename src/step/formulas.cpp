// The public functions of <sadam/choices.h>.
#include <sadam/choices.h>

#include "kernels/lgi.h"
#include "step/option_names.h"

namespace sadam {

double lgi(Statistic statistic, const std::vector<double>& differences, const std::vector<double>& slopes,
           double eps) {
  if (differences.empty()) throw Error("lgi: there is no difference to judge: evaluate at least one probe.");
  if (!is_known(statistic)) throw Error("lgi: the statistic must be " + list_of_names<Statistic>() + ".");
  if (kernels::reads_slopes(statistic) && slopes.size() != differences.size())
    throw Error("lgi: this statistic needs one slope for each difference.");
  return kernels::lgi_of(
      statistic, {differences.data(), slopes.data(), static_cast<std::int64_t>(differences.size())}, eps);
}

double step_lgi(double change, double slope) { return kernels::step_lgi_of(change, slope); }

double brake(Brake form, double damping, double lgi, const HeldBrake& held) {
  if (!is_known(form)) throw Error("brake: the form of the brake must be " + list_of_names<Brake>() + ".");
  return kernels::brake_of(form, damping, lgi, held);
}

std::string to_string(Directions directions) { return name_of(directions); }
std::string to_string(Statistic statistic) { return name_of(statistic); }
std::string to_string(Brake form) { return name_of(form); }
std::string to_string(ProbeNoise noise) { return name_of(noise); }
std::string to_string(BiasCorrection correction) { return name_of(correction); }
std::string to_string(GradientAt place) { return name_of(place); }

}  // namespace sadam
