// The tables, one file each.
#pragma once

#include <cstdint>
#include <string>

#include "report.h"

namespace sadam::bench {

/// What the command line asks for.
struct Settings {
  bool quick = false;
  int threads = 2;                                     ///< the budgets are for two
  std::string authors_step = "bench/authors_step.py";  ///< the PyTorch program of qat_table
};

/// The fused update against torch::optim::AdamW and against a copy.
void update_table(Report& report, const Settings& settings);
/// One perturbation, the norm of its direction included, against the obvious one and against a copy.
void perturb_table(Report& report, const Settings& settings);
/// The whole step on a small convolutional network, against what it cannot avoid.
void step_table(Report& report, const Settings& settings);
/// A step on the network of the quantization experiments, against a PyTorch program that does the same.
void qat_table(Report& report, const Settings& settings);
/// The peak of resident memory against that of AdamW, each in a process of its own.
void memory_table(Report& report, const Settings& settings);
/// One process against two that share its batch or its probes, and what messages cost.
void processes_table(Report& report, const Settings& settings);
/// The same for many GPUs: an estimate.
void scale_table(Report& report, const Settings& settings);

/// What such a process does: takes a few steps with `optimizer` ("adamw", "sphere", "step", ...) on a
/// ResNet-18's parameters of that width, and prints the peak of its resident memory in bytes.
void print_peak_memory(const std::string& optimizer, std::int64_t width);

/// What a rank of processes_table does: meets the others at the store, and answers lines.
void serve_as_rank(int rank, int size, const std::string& store, int threads);

/// The machine and the software, a line each.
void print_machine(const Settings& settings);

}  // namespace sadam::bench
