// The paper's theory as running code: every claim that a number can decide, topic by topic. A claim is data:
// what it says, where, what it predicts, what was measured; one function judges it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/estimate.h"

namespace sadam::lab {

// ---- claims -----------------------------------------------------------------------------------------------

/// How what is measured must lie to what is predicted.
enum class Relation {
  equals,    ///< = p
  at_most,   ///< ≤ p
  below,     ///< < p
  at_least,  ///< ≥ p
  above,     ///< > p
};

enum class Verdict { holds, in_part, fails, undecided };

struct Prediction {
  Relation relation = Relation::equals;
  double predicted = 0;
  /// How far beyond the prediction still agrees: what "about" and "to first order" mean in numbers.
  double tolerance = 0;
};
inline Prediction equals(double p, double tolerance = 0) { return {Relation::equals, p, tolerance}; }
inline Prediction at_most(double p, double tolerance = 0) { return {Relation::at_most, p, tolerance}; }
inline Prediction below(double p, double tolerance = 0) { return {Relation::below, p, tolerance}; }
inline Prediction at_least(double p, double tolerance = 0) { return {Relation::at_least, p, tolerance}; }
inline Prediction above(double p, double tolerance = 0) { return {Relation::above, p, tolerance}; }

/// One comparison: a number that the claim predicts beside the one that was measured.
struct Case : Prediction {
  std::string name;  ///< "chain, k = 8"
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

  void add(const std::string& name, const Prediction& predicted, const Estimate& measured,
           const std::string& counterexample = "") {
    cases.push_back({predicted, name, measured, counterexample});
  }
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

// ---- topics -----------------------------------------------------------------------------------------------

struct TheoryTopic {
  std::string name;   ///< "bounds"
  std::string about;  ///< in a line
  std::vector<Claim> (*check)(const LongWork&);
};

/// In the order of the paper.
const std::vector<TheoryTopic>& theory_topics();

/// Throws a UsageError with the nearest name.
const TheoryTopic& theory_topic(const std::string& name);

// ---- the topics, each in the file of its family -----------------------------------------------------------

// theory_bounds.cpp: what the formulas of ρ and of the brake say by themselves.
std::vector<Claim> check_bounds(const LongWork& options);
std::vector<Claim> check_proximal(const LongWork& options);
// theory_samples.cpp: how many probes ρ needs.
std::vector<Claim> check_samples(const LongWork& options);
// theory_curvature.cpp: what ρ says of curvature and of kinks.
std::vector<Claim> check_curvature(const LongWork& options);
std::vector<Claim> check_diameter(const LongWork& options);
// theory_convergence.cpp: where S-Adam goes, and how fast.
std::vector<Claim> check_rate(const LongWork& options);
std::vector<Claim> check_limit(const LongWork& options);
std::vector<Claim> check_lyapunov(const LongWork& options);
// theory_stability.cpp: what one example more or less changes.
std::vector<Claim> check_batch(const LongWork& options);
std::vector<Claim> check_twins(const LongWork& options);

}  // namespace sadam::lab
