// The paper's theory as running code: every claim that a number can decide, topic by topic.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/claim.h"

namespace sadam::lab {

/// Thrown where `TheoryOptions::stop` was seen.
struct TheoryStopped {};

struct TheoryOptions {
  bool quick = false;  ///< fewer seeds, shorter runs, lower dimensions
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;                     ///< set from elsewhere: stop at once
  std::function<void(const std::string&)> progress = nullptr;  ///< told what is being worked on

  /// One of two sizes.
  template <class Number>
  Number size(Number full, Number small) const {
    return quick ? small : full;
  }
  void say(const std::string& what) const {
    if (progress) progress(what);
  }
  /// Throws `TheoryStopped` if asked to stop; long loops call it.
  void check_stop() const {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw TheoryStopped{};
  }
};

struct TheoryTopic {
  std::string name;   ///< "bounds"
  std::string about;  ///< in a line
  std::vector<Claim> (*check)(const TheoryOptions&);
};

/// In the order of the paper.
const std::vector<TheoryTopic>& theory_topics();

/// Throws a UsageError with the nearest name.
const TheoryTopic& theory_topic(const std::string& name);

// ---- the topics, each in the file of its family -----------------------------------------------------------

// theory_bounds.cpp: what the formulas of ρ and of the brake say by themselves.
std::vector<Claim> check_bounds(const TheoryOptions& options);
std::vector<Claim> check_proximal(const TheoryOptions& options);
// theory_samples.cpp: how many probes ρ needs.
std::vector<Claim> check_samples(const TheoryOptions& options);
// theory_curvature.cpp: what ρ says of curvature and of kinks.
std::vector<Claim> check_curvature(const TheoryOptions& options);
std::vector<Claim> check_diameter(const TheoryOptions& options);
// theory_convergence.cpp: where S-Adam goes, and how fast.
std::vector<Claim> check_rate(const TheoryOptions& options);
std::vector<Claim> check_limit(const TheoryOptions& options);
std::vector<Claim> check_lyapunov(const TheoryOptions& options);
// theory_stability.cpp: what one example more or less changes.
std::vector<Claim> check_batch(const TheoryOptions& options);
std::vector<Claim> check_twins(const TheoryOptions& options);

}  // namespace sadam::lab
