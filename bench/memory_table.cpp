#include <ATen/ops/dot.h>
#include <sadam/adamw.h>
#include <sadam/s_adam.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "tables.h"
#include "workload.h"

namespace sadam::bench {
namespace {

// From the kernel's own account, which starts anew with each program. (That of getrusage is inherited.)
std::int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    std::int64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  throw std::runtime_error("/proc/self/status does not say how much memory was used: run this on Linux.");
}

std::unique_ptr<Optimizer> make_optimizer(const std::string& name,
                                          const std::vector<at::Tensor>& parameters) {
  if (name == "adamw") return std::make_unique<AdamW>(parameters);
  SAdamOptions options;
  if (name == to_string(Directions::per_tensor)) options.directions(Directions::per_tensor);
  if (name == to_string(Directions::rademacher)) options.directions(Directions::rademacher);
  if (name == to_string(Directions::step))
    options.directions(Directions::step).statistic(Statistic::residual);
  return std::make_unique<SAdam>(parameters, options);
}

double measured_peak(const std::string& optimizer, std::int64_t width) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  // Every array gets a mapping of its own, so that what is resident is what is in use.
  const auto command =
      "MALLOC_MMAP_THRESHOLD_=65536 '" + program + "' --peak " + optimizer + " " + std::to_string(width);
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  std::array<char, 64> line{};
  if (!output || std::fgets(line.data(), line.size(), output.get()) == nullptr)
    throw std::runtime_error("the process that measures memory gave no answer.");
  return std::stod(line.data());
}

}  // namespace

namespace {

void take_steps(Optimizer& optimizer, const std::vector<at::Tensor>& parameters) {
  for (int step = 0; step < 3; ++step)
    optimizer.step([&] {
      at::Tensor loss;
      for (const auto& w : parameters) {
        const auto flat = w.reshape({-1});
        const auto part = at::dot(flat, flat);
        loss = loss.defined() ? loss.add(part) : part;
      }
      return loss;
    });
}

}  // namespace

void print_peak_memory(const std::string& optimizer, std::int64_t width) {
  // Every process has the same code in memory: what differs are arrays.
  const auto small = one_parameter(1);
  for (const auto& name : {std::string("adamw"), to_string(Directions::sphere), to_string(Directions::step)})
    take_steps(*make_optimizer(name, small), small);
  const auto parameters = resnet18_parameters(width);
  take_steps(*make_optimizer(optimizer, parameters), parameters);
  std::cout << peak_resident_bytes() << std::endl;
}

void memory_table(Report& report, const Settings& settings) {
  report.begin("Peak memory beyond AdamW", {"parameters", "directions", "S-Adam MB", "AdamW MB",
                                            "beyond, in copies of the parameters", "budget"});
  for (const auto& scale : scales(settings.quick)) {
    if (scale.width < 64) continue;  // too small to be seen beside libtorch itself
    const double bytes = 4 * static_cast<double>(count_of(one_parameter(scale.width)));
    const double adamw = measured_peak("adamw", scale.width);
    for (const auto directions :
         {Directions::sphere, Directions::per_tensor, Directions::rademacher, Directions::step}) {
      const double s_adam = measured_peak(to_string(directions), scale.width);
      const double copies = (s_adam - adamw) / bytes;
      // A page here and there is no array.
      const double counted = copies < 1.02 ? std::min(copies, 1.0) : copies;
      report.row({millions(bytes / 4), to_string(directions), fixed(s_adam / 1e6, 0), fixed(adamw / 1e6, 0),
                  fixed(copies, 3), report.verdict(counted, at_most(1))});
    }
  }
  report.end();
}

}  // namespace sadam::bench
