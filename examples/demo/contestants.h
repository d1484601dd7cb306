// The optimizers that are compared, and what is noted of each run.
#pragma once

#include <sadam/sadam.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rows.h"

namespace demo {

/// What all contestants of a problem share, and what differs between two runs of one.
struct Setting {
  double lr = 1e-3;            ///< of AdamW and S-Adam
  double weight_decay = 0.01;  ///< of AdamW and S-Adam
  double prox_lr = 0.01;
  double prox_l1 = 1e-4;
  std::uint64_t seed = 0;   ///< of S-Adam's directions
  double mean_brake = 1.0;  ///< of the S-Adam run with the same seed: read by its control only
};

struct Contestant {
  std::string name;
  std::function<std::unique_ptr<sadam::Optimizer>(std::vector<torch::Tensor>, const Setting&)> make;
  bool random = true;  ///< the seed of the directions makes a difference
};

/// In the order of the tables. The control stands after S-Adam, whose mean brake it needs.
const std::vector<Contestant>& contestants();

/// The brake over one run or several.
class BrakeLog {
 public:
  void add(const sadam::StepSummary& summary);
  void add(const BrakeLog& other);

  bool probed() const { return probed_ > 0; }
  double mean() const;
  double min() const { return min_; }
  double max() const { return max_; }
  double mean_lgi() const;
  std::int64_t probed_steps() const { return probed_; }
  std::int64_t within_noise() const { return within_noise_; }

 private:
  std::int64_t steps_ = 0;
  std::int64_t probed_ = 0;
  std::int64_t within_noise_ = 0;
  double brake_sum_ = 0;
  double lgi_sum_ = 0;
  double min_ = 1;
  double max_ = 0;
};

}  // namespace demo
