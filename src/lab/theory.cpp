#include "lab/theory.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::lab {

const std::vector<TheoryTopic>& theory_topics() {
  static const std::vector<TheoryTopic> topics = {
      {"bounds", "ρ below 1, the brake above e^−λ", check_bounds},
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
