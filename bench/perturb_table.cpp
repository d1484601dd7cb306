// The obvious way to perturb stores the direction and passes over it several times; ours makes it in
// registers, twice: once for its norm, once to add it.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn_like.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "step/copies.h"
#include "step/passes.h"
#include "support/target_scope.h"
#include "tables.h"
#include "workload.h"

namespace sadam::bench {
namespace {

constexpr double kRadius = 0.01;

// One unit vector over all tensors, as `sphere` and `rademacher` make it.
void naive_sphere(const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> directions;
  double squared = 0;
  for (const auto& w : parameters) {
    directions.push_back(at::randn_like(w));
    const auto length = directions.back().norm().item<double>();
    squared += length * length;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i].add_(directions[i].div(std::sqrt(squared)), kRadius);
}

// One unit vector for each tensor: the authors' code.
void naive_per_tensor(const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_grad;
  for (const auto& w : parameters) {
    const auto direction = at::randn_like(w);
    w.add_(direction.div(direction.norm().add_(1e-12)), kRadius);
  }
}

// What a step of one group has at hand for its probes.
struct Probed {
  explicit Probed(const std::vector<at::Tensor>& parameters) {
    std::uint64_t first = 0;
    for (const auto& w : parameters) {
      auto& item = items.emplace_back();
      item.parameter = w;
      item.first = first;
      first += static_cast<std::uint64_t>(w.numel());
    }
    numbers.set_items(items);
    copies.fit(parameters);
    for (std::size_t i = 0; i < items.size(); ++i) {
      target.from.push_back(parameters[i].variable_data());
      target.to.push_back(copies[i]);
    }
  }

  std::shared_ptr<step::Backend> backend = step::make_backend(at::kCPU);
  step::Numbers numbers{at::kCPU, {1, 1, false}, {}, {{}}};
  step::Items items;
  step::Copies copies;
  step::Target target;
};

// One law of directions, and the next probe with each call.
class OurPerturbation {
 public:
  OurPerturbation(const Probed& probed, Directions directions) : probed_(probed) {
    plan_.directions = directions;
    plan_.radius = kRadius;
  }
  void run() {
    const step::Passes passes(*probed_.backend, probed_.numbers, probed_.items);
    passes.move(plan_, passes.direction(plan_, probe_++ % 60000, 0, {0, 1}), probed_.target);
  }

 private:
  const Probed& probed_;
  step::ProbePlan plan_;
  std::int64_t probe_ = 0;
};

struct Budgets {
  std::optional<Budget> speedup;
  std::optional<Budget> copies;
};

// Budgets are for 11 M parameters. Those of `sphere` are for AVX-512, or else AVX2.
Budgets budgets_for(Directions directions, std::int64_t target) {
  if (directions == Directions::rademacher) return {at_least(12), at_most(2)};
  if (directions != Directions::sphere) return {};
  if (target == HWY_AVX2) return {at_least(4), std::nullopt};
  return {at_least(5), at_most(5)};
}

void add_rows(Report& report, const Settings& settings, const Scale& scale,
              const std::vector<at::Tensor>& parameters) {
  const Probed probed(parameters);
  PlainCopy copy(count_of(parameters), settings.threads);
  OurPerturbation sphere(probed, Directions::sphere);
  OurPerturbation per_tensor(probed, Directions::per_tensor);
  OurPerturbation rademacher(probed, Directions::rademacher);

  struct Row {
    Directions directions;
    OurPerturbation& ours;
    const char* naive;
    std::int64_t target;
  };
  const auto targets = hwy::SupportedAndGeneratedTargets();
  const std::int64_t best = targets.front();
  std::vector<Row> rows = {{Directions::sphere, sphere, "naive", best},
                           {Directions::rademacher, rademacher, "naive", best}};
  if (parameters.size() > 1) rows.push_back({Directions::per_tensor, per_tensor, "naive per tensor", best});
  if (scale.width == 64 && best != HWY_AVX2 && std::count(targets.begin(), targets.end(), HWY_AVX2) > 0)
    for (std::size_t i = 0, own = rows.size(); i < own; ++i)
      rows.push_back({rows[i].directions, rows[i].ours, rows[i].naive, HWY_AVX2});

  const auto name_of = [](const Row& row) {
    return to_string(row.directions) + " " + hwy::TargetName(row.target);
  };
  Variants variants = {{"memcpy", [&] { copy.run(); }}, {"naive", [&] { naive_sphere(parameters); }}};
  if (parameters.size() > 1) variants.push_back({"naive per tensor", [&] { naive_per_tensor(parameters); }});
  for (const auto& row : rows)
    variants.push_back({name_of(row), [&row] {
                          const kernels::TargetScope scope(row.target);
                          row.ours.run();
                        }});
  const auto times = time_in_turns(variants, scale.rounds, scale.calls);

  for (const auto& row : rows) {
    const auto& ours = times.at(name_of(row));
    const auto speedup = ratio(times.at(row.naive), ours);
    const auto copies = ratio(ours, times.at("memcpy"));
    const auto budgets = scale.width == 64 ? budgets_for(row.directions, row.target) : Budgets{};
    report.row({millions(static_cast<double>(count_of(parameters))), std::to_string(parameters.size()),
                to_string(row.directions), hwy::TargetName(row.target), milliseconds(ours),
                milliseconds(times.at(row.naive)), milliseconds(times.at("memcpy")),
                with_quartiles(speedup, 1), report.verdict(speedup.median, budgets.speedup),
                with_quartiles(copies, 2), report.verdict(copies.median, budgets.copies)});
  }
}

}  // namespace

void perturb_table(Report& report, const Settings& settings) {
  report.begin("Perturbation w₀ + δu → w, the norm of u included",
               {"parameters", "tensors", "directions", "instructions", "ms", "naive ms", "memcpy ms",
                "faster than naive, times", "budget", "in copies", "budget"});
  for (const auto& scale : scales(settings.quick)) {
    add_rows(report, settings, scale, resnet18_parameters(scale.width));
    add_rows(report, settings, scale, one_parameter(scale.width));
  }
  report.end();
}

}  // namespace sadam::bench
