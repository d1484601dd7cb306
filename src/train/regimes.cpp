#include "train/regimes.h"

#include <cmath>
#include <numeric>

#include "base/statistics.h"
#include "train/record/events.h"

namespace sadam::train {
namespace {

constexpr std::size_t kRecent = 12;
constexpr std::size_t kLeastBefore = kLeastBlocks - kRecent;
constexpr std::size_t kMostBefore = 200;
constexpr double kAlarm = 4.2;

double mean_of(auto begin, auto end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

}  // namespace

std::optional<LevelChange> LevelDetector::add(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  sum_ += value;
  if (++count_ < block_) return std::nullopt;
  blocks_.push_back(sum_ / static_cast<double>(count_));
  sum_ = 0;
  count_ = 0;
  if (blocks_.size() > kMostBefore + kRecent) blocks_.pop_front();
  if (blocks_.size() < kLeastBefore + kRecent) return std::nullopt;

  const auto ranks = base::ranks_of(std::vector<double>(blocks_.begin(), blocks_.end()));
  const auto recent = static_cast<double>(kRecent);
  const auto all = static_cast<double>(ranks.size());
  const double expected = recent * (all + 1) / 2;
  const double sum = std::accumulate(ranks.end() - kRecent, ranks.end(), 0.0);
  // The variance of ranks as they are, so that ties are allowed for.
  double variance = 0;
  for (const double rank : ranks) variance += (rank - (all + 1) / 2) * (rank - (all + 1) / 2);
  variance *= recent * (all - recent) / (all * (all - 1));
  if (variance <= 0) return std::nullopt;
  const double score = (sum - expected) / std::sqrt(variance);
  if (std::abs(score) < kAlarm) return std::nullopt;
  const auto change = blocks_.end() - kRecent;
  const LevelChange found{mean_of(blocks_.begin(), change), mean_of(change, blocks_.end()), score};
  blocks_.erase(blocks_.begin(), change);
  return found;
}

std::vector<RegimeEvent> RegimeWatch::add(const StepEvent& step) {
  std::vector<RegimeEvent> events;
  if (!step.probed) return events;
  const auto look = [&](LevelDetector& detector, const char* quantity, double value) {
    if (const auto change = detector.add(value))
      events.push_back({step.step, quantity, change->before, change->after, change->score});
  };
  look(lgi_, "lgi", step.lgi);
  if (step.residual) look(residual_, "residual", *step.residual);
  return events;
}

}  // namespace sadam::train
