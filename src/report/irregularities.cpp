#include "report/irregularities.h"

#include <functional>

#include <fmt/format.h>

namespace sadam::report {
namespace {

// "" for a run it does not hold of.
using Part = std::function<std::string(const RunSummary&)>;

// "a (3 of 40), b (1 of 40) and 7 more", or "".
std::string list_of(const std::vector<const RunSummary*>& runs, const Part& part) {
  constexpr std::size_t most = 6;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const auto* run : runs) {
    const auto text = part(*run);
    if (text.empty()) continue;
    if (names.size() < most)
      names.push_back(text);
    else
      ++more;
  }
  const auto list = fmt::format("{}", fmt::join(names, ", "));
  return more == 0 ? list : fmt::format("{} and {} more", list, more);
}

Part counted_of(std::int64_t train::StepCounts::*count, std::int64_t train::StepCounts::*whole) {
  return [=](const RunSummary& run) {
    const auto& counts = run.counts;
    return counts.*count == 0 ? "" : fmt::format("{} ({} of {})", run.name, counts.*count, counts.*whole);
  };
}

}  // namespace

std::vector<std::string> irregularities(const std::vector<const RunSummary*>& runs) {
  std::vector<std::string> sentences;
  const auto add = [&](const char* sentence, const Part& part) {
    const auto list = list_of(runs, part);
    if (!list.empty()) sentences.push_back(fmt::format("{}: {}.", sentence, list));
  };
  add("Diverged, by the last epoch", [](const RunSummary& run) { return run.diverged ? run.name : ""; });
  add("Steps skipped, because the loss or its gradient was not finite",
      counted_of(&train::StepCounts::skipped, &train::StepCounts::steps));
  add("Probes that were not finite, each of which made the ρ of its step the largest there is",
      [](const RunSummary& run) {
        const auto count = run.counts.non_finite_probes;
        return count == 0 ? "" : fmt::format("{} ({})", run.name, count);
      });
  add("Steps whose probes changed the loss by no more than it is rounded, so that their ρ is noise",
      counted_of(&train::StepCounts::within_noise, &train::StepCounts::probed));
  return sentences;
}

}  // namespace sadam::report
