#include "lab/theory.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::lab {

const std::vector<TheoryTopic>& theory_topics() {
  static const std::vector<TheoryTopic> topics = {
      {"bounds", "ρ below 1, the brake above e^−λ", check_bounds},
      {"samples", "how many probes ρ needs", check_samples},
      {"proximal", "the brake as a proximal step", check_proximal},
      {"curvature", "ρ as relative curvature", check_curvature},
      {"diameter", "Var(D) as the diameter of Clarke's set", check_diameter},
      {"rate", "how fast dist(0, ∂f) falls", check_rate},
      {"limit", "where dist(0, ∂f) ends", check_limit},
      {"lyapunov", "whether f falls on the way", check_lyapunov},
      {"batch", "how much of ρ hangs on one example", check_batch},
      {"twins", "runs that differ in one example", check_twins},
  };
  return topics;
}

const TheoryTopic& theory_topic(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& topic : theory_topics()) {
    if (topic.name == name) return topic;
    names.push_back(topic.name);
  }
  throw UsageError(
      fmt::format("there is no topic {}{}", base::in_quotes(name), base::suggestion(name, names)));
}

}  // namespace sadam::lab
