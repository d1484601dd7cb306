#include "lab/theory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::lab {
namespace {

struct RelationRow {
  std::string_view name, sign, tolerance_sign;
};
// In the order of the enumerations.
constexpr std::array<RelationRow, 5> kRelations{{{"equals", "=", "±"},
                                                 {"at_most", "≤", "+"},
                                                 {"below", "<", "+"},
                                                 {"at_least", "≥", "−"},
                                                 {"above", ">", "−"}}};
constexpr std::array<std::string_view, 4> kVerdicts{"holds", "holds in part", "does not hold", "undecided"};

const RelationRow& row_of(Relation relation) { return kRelations.at(static_cast<std::size_t>(relation)); }

/// Whether a single number agrees with the prediction. A number that is none never does.
bool agrees(const Case& one, double x) {
  switch (one.relation) {
    case Relation::equals:
      return std::fabs(x - one.predicted) <= one.tolerance;
    case Relation::at_most:
      return x <= one.predicted + one.tolerance;
    case Relation::below:
      return x < one.predicted + one.tolerance;
    case Relation::at_least:
      return x >= one.predicted - one.tolerance;
    case Relation::above:
      return x > one.predicted - one.tolerance;
  }
  return false;
}

/// Whether an interval that has both ends outside reaches over the prediction.
bool straddles(const Case& one) {
  return one.relation == Relation::equals && one.measured.low < one.predicted &&
         one.measured.high > one.predicted;
}

}  // namespace

Verdict judge(const Case& one) {
  const bool low = agrees(one, one.measured.low);
  const bool high = agrees(one, one.measured.high);
  if (low && high) return Verdict::holds;
  return low || high || straddles(one) ? Verdict::undecided : Verdict::fails;
}

Verdict judge(const Claim& claim) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(claim.cases.begin(), claim.cases.end(),
                         [&](const Case& one) { return judge(one) == verdict; });
  };
  const auto holding = count(Verdict::holds);
  const auto failing = count(Verdict::fails);
  if (failing > 0) return holding > 0 ? Verdict::in_part : Verdict::fails;
  if (holding == 0 || count(Verdict::undecided) > 0) return Verdict::undecided;
  return Verdict::holds;
}

std::string_view to_string(Verdict verdict) { return kVerdicts.at(static_cast<std::size_t>(verdict)); }
std::string_view to_string(Relation relation) { return row_of(relation).name; }

std::string prediction(const Case& one) {
  const auto& row = row_of(one.relation);
  auto text = fmt::format("{} {:.3g}", row.sign, one.predicted);
  if (one.tolerance > 0) text += fmt::format(" {} {:.2g}", row.tolerance_sign, one.tolerance);
  return text;
}

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
