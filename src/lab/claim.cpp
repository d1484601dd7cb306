#include "lab/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sadam::lab {
namespace {

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

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::in_part:
      return "holds in part";
    case Verdict::fails:
      return "does not hold";
    case Verdict::undecided:
      return "undecided";
  }
  return "";
}

std::string_view to_string(Relation relation) {
  switch (relation) {
    case Relation::equals:
      return "equals";
    case Relation::at_most:
      return "at_most";
    case Relation::below:
      return "below";
    case Relation::at_least:
      return "at_least";
    case Relation::above:
      return "above";
  }
  return "";
}

std::string prediction(const Case& one) {
  const auto with = [&](std::string_view sign, std::string_view tolerance_sign) {
    auto text = fmt::format("{} {:.3g}", sign, one.predicted);
    if (one.tolerance > 0) text += fmt::format(" {} {:.2g}", tolerance_sign, one.tolerance);
    return text;
  };
  switch (one.relation) {
    case Relation::equals:
      return with("=", "±");
    case Relation::at_most:
      return with("≤", "+");
    case Relation::below:
      return with("<", "+");
    case Relation::at_least:
      return with("≥", "−");
    case Relation::above:
      return with(">", "−");
  }
  return "";
}

}  // namespace sadam::lab
