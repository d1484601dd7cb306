// Nobody here has a thousand GPUs: what the model of a step's cost says of them, with every assumption.
#include <cmath>
#include <iostream>

#include "step_cost.h"
#include "tables.h"

namespace sadam::bench {
namespace {

// Vendor's figures for an H200 and its network, and which part of them is reached.
constexpr double kParameters = 1e9;
constexpr double kBf16 = 989e12;    // operations a second, dense
constexpr double kFloat32 = 67e12;  // without tensor cores
constexpr double kReached = 0.4;
constexpr double kNvlink = 450e9;   // bytes a second, one way, between the 8 GPUs of a machine
constexpr double kNetwork = 400e9;  // bytes a second and machine: eight cards of 400 Gbit/s
constexpr double kReachedBytes = 0.8;
constexpr double kHop = 5e-6;  // seconds; sums of a few numbers go up and down a tree
// Measured on one H200 (docs/benchmarks-gpu.md), for 100 M parameters.
constexpr double kUpdate = 0.69e-3;
constexpr double kMove = 0.29e-3;
constexpr double kTokens = 1 << 20;  // of all ranks together, in a step

// How a step probes.
struct Probing {
  double probes = 0;
  double every = 1;  // so many steps
  double part = 1;   // of the batch
};

class Cluster {
 public:
  Cluster(int gpus, bool probes_in_float32) : gpus_(gpus), probes_in_float32_(probes_in_float32) {
    // A token costs two operations a parameter forward, and four backward.
    const double forward = 2 * kParameters / (kReached * kBf16);
    cost_.step = kUpdate * kParameters / 1e8;
    cost_.move = kMove * kParameters / 1e8;
    cost_.example = 3 * forward;
    cost_.forward = probes_in_float32 ? forward * kBf16 / kFloat32 : forward;
    cost_.message = 2 * std::ceil(std::log2(gpus)) * kHop;
    cost_.byte = 2.0 * (gpus - 1) / gpus / (kReachedBytes * (gpus > 8 ? kNetwork : kNvlink));
    adamw_.examples = kTokens / gpus;
    adamw_.messages = 1;
    adamw_.bytes = 4 * kParameters;
    adamw_.hidden = 2 * forward * adamw_.examples;
  }

  double adamw() const { return seconds_of(cost_, adamw_); }
  double in_sums() const {
    auto alone = adamw_;
    alone.messages = alone.bytes = 0;
    return adamw() - seconds_of(cost_, alone);
  }
  double tokens() const { return adamw_.examples; }
  double message() const { return cost_.message; }

  /// What probing adds to the average step, as a share of AdamW's.
  double extra(const Probing& probing) const {
    auto load = adamw_;
    // f(w) of the base evaluation serves only where it was of the same examples in the same precision.
    const bool again = probing.part < 1 || probes_in_float32_;
    load.probes = probing.probes;
    load.forwards = (probing.probes + (again ? 1 : 0)) * probing.part * load.examples;
    load.messages += 1;
    return (seconds_of(cost_, load) / adamw() - 1) / probing.every;
  }

  /// "8", or "none": the most probes for a tenth of AdamW's time.
  std::string most_probes(Probing probing) const {
    int most = 0;
    for (probing.probes = 1; probing.probes <= 999 && extra(probing) <= 0.1; ++probing.probes) ++most;
    return most == 0 ? "none" : std::to_string(most);
  }

  int gpus() const { return gpus_; }

 private:
  int gpus_;
  bool probes_in_float32_;
  StepCost cost_;
  StepLoad adamw_;
};

}  // namespace

void scale_table(Report& report, const Settings& /*settings*/) {
  std::cout << "\nAn estimate, not a measurement: " << fixed(kParameters / 1e9, 0) << "e9 parameters, "
            << fixed(kTokens, 0) << " tokens a step over all GPUs; bfloat16 at " << 100 * kReached << " % of "
            << kBf16 / 1e12 << " Tflop/s, float32 of " << kFloat32 / 1e12 << "; sums of float32 gradients at "
            << 100 * kReachedBytes << " % of " << kNvlink / 1e9 << " GB/s within a machine of 8, "
            << kNetwork / 1e9
            << " GB/s a machine between them, hidden by the backward pass where it is longer; " << 1e6 * kHop
            << " µs a hop.\n";
  for (const bool in_float32 : {false, true}) {
    report.begin(in_float32 ? "Estimate: probes in float32, as with autocast around the step"
                            : "Estimate: probes in bfloat16, as with autocast in the closure",
                 {"GPUs", "tokens a GPU", "AdamW, ms", "in sums, ms", "k + 1 numbers, µs", "one probe, %",
                  "k for 10 %", "every 10th step", "1/16 of the batch", "both"});
    for (const int gpus : {8, 64, 256, 1024}) {
      const Cluster cluster(gpus, in_float32);
      report.row({std::to_string(gpus), fixed(cluster.tokens(), 0), fixed(1e3 * cluster.adamw(), 0),
                  fixed(1e3 * cluster.in_sums(), 1), fixed(1e6 * cluster.message(), 0),
                  fixed(100 * cluster.extra({1, 1, 1}), 0), cluster.most_probes({0, 1, 1}),
                  cluster.most_probes({0, 10, 1}), cluster.most_probes({0, 1, 1.0 / 16}),
                  cluster.most_probes({0, 10, 1.0 / 16})});
    }
    report.end();
  }
}

}  // namespace sadam::bench
