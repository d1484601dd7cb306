// Where a stream of numbers changes its level for good: a detector that runs along with training.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sadam::train {

/// Fewer blocks than this raise no alarm.
inline constexpr std::int64_t kLeastBlocks = 36;

struct LevelChange {
  double before = 0;  ///< mean of the numbers before
  double after = 0;   ///< mean of those that raised the alarm
  double score = 0;   ///< how far apart they are, in standard deviations of the rank sum
};

/// Averages numbers in blocks and compares the last 12 blocks with those before (24 to 200 of them) by the
/// Mann-Whitney rank sum: it takes no distribution for granted. An alarm is a score beyond ±4.2. Independent
/// blocks of one level raise a false alarm about once in 400 000 blocks (once in 45 000 where they have two
/// values only); a change of two deviations is found within 20. After an alarm it starts anew.
class LevelDetector {
 public:
  /// `block`: numbers averaged into one, so that neighbours hardly depend on each other.
  explicit LevelDetector(std::int64_t block) : block_(block) {}

  /// A number that is not finite is left out.
  std::optional<LevelChange> add(double value);

 private:
  std::int64_t block_;
  std::int64_t count_ = 0;
  double sum_ = 0;
  std::deque<double> blocks_;
};

struct StepEvent;
struct RegimeEvent;

/// The detectors of a run: of ρ and, where it is known, of the residual, over the steps that probed.
class RegimeWatch {
 public:
  explicit RegimeWatch(std::int64_t block) : lgi_(block), residual_(block) {}

  std::vector<RegimeEvent> add(const StepEvent& step);

 private:
  LevelDetector lgi_;
  LevelDetector residual_;
};

}  // namespace sadam::train
