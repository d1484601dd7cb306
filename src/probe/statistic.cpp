#include <sadam/statistic.h>

#include "../kernels/lgi.h"
#include "option_names.h"

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

std::string to_string(Statistic statistic) { return name_in(kStatisticNames, statistic); }

}  // namespace sadam
