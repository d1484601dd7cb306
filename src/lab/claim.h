// A claim of the paper as data: what it says, where, what it predicts, what was measured; and the one
// function that judges it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/estimate.h"

namespace sadam::lab {

/// How what is measured must lie to what is predicted.
enum class Relation {
  equals,    ///< = p
  at_most,   ///< ≤ p
  below,     ///< < p
  at_least,  ///< ≥ p
  above,     ///< > p
};

enum class Verdict { holds, in_part, fails, undecided };

/// One comparison: a number that the claim predicts beside the one that was measured.
struct Case {
  std::string name;  ///< "chain, k = 8"
  Relation relation = Relation::equals;
  double predicted = 0;
  /// How far beyond the prediction still agrees: what "about" and "to first order" mean in numbers.
  double tolerance = 0;
  Estimate measured;
  /// The point and the numbers; shown where the case fails.
  std::string counterexample{};
};

struct Claim {
  std::string id;         ///< "bounds.rho"
  std::string where;      ///< "Proposition 4.1, Lemma A.1"
  std::string statement;  ///< in a line, with its conditions
  std::string setting{};  ///< what was measured, and how
  std::vector<Case> cases{};
  /// Where no number can decide: why. Such a claim has no cases.
  std::string untestable{};
};

/// A case holds if its whole interval agrees, fails if none of it does, and is undecided between. A claim
/// holds if every case does; it fails if cases fail and none holds; it holds in part if some hold and some
/// fail. Without a case, or with one undecided and none that fails, it is undecided.
Verdict judge(const Case& one);
Verdict judge(const Claim& claim);

std::string_view to_string(Verdict verdict);    ///< "does not hold"
std::string_view to_string(Relation relation);  ///< "at_most"

/// "< 1", "= 0.5 ± 0.05", "≤ −0.5 + 0.1".
std::string prediction(const Case& one);

}  // namespace sadam::lab
