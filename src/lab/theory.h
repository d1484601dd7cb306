// The paper's theory as running code: every claim that a number can decide, topic by topic.
#pragma once

#include <string>
#include <vector>

#include "lab/claim.h"
#include "lab/long_work.h"

namespace sadam::lab {

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
