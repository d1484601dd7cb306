#include "gpu/kernels_table.h"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/kernels.h"
#include "nn/kernels/kernels.h"
#include "turns.h"

namespace sadam::bench {

void kernels_table(Report& report, std::int64_t count, int rounds) {
  const auto options = torch::TensorOptions().dtype(torch::kFloat).device(torch::kCUDA);
  const auto w = torch::randn({count}, options);
  const auto base = torch::randn({count}, options);
  const auto m = torch::zeros({count}, options);
  const auto v = torch::zeros({count}, options);
  const auto g = torch::randn({count}, options);
  const auto step = torch::zeros({1}, options.dtype(torch::kLong));
  const auto inverse = torch::ones({1}, options.dtype(torch::kDouble));
  kernels::AdamCoefficients host_coefficients;
  host_coefficients.step_size = 1e-3;
  auto coefficients = torch::empty({static_cast<std::int64_t>(sizeof host_coefficients)}, torch::kByte);
  std::memcpy(coefficients.data_ptr(), &host_coefficients, sizeof host_coefficients);
  coefficients = coefficients.to(torch::kCUDA);
  const auto stream = at::cuda::getCurrentCUDAStream().stream();
  const kernels::Place place = {1, stream};
  const auto& table = kernels::cuda_kernels();
  const auto& of_float = table.of_float;

  kernels::AdamUpdate<float> update;
  update.segments = {{w.data_ptr<float>(), m.data_ptr<float>(), v.data_ptr<float>(), g.data_ptr<float>(),
                      count, static_cast<const kernels::AdamCoefficients*>(coefficients.data_ptr())}};
  update.place = place;
  const auto perturb = [&](kernels::Distribution distribution) {
    kernels::Perturb<float> launch;
    launch.direction = {7, step.data_ptr<std::int64_t>(), 0};
    launch.distribution = distribution;
    launch.scale = 0.01;
    launch.segments = {{w.data_ptr<float>(), base.data_ptr<float>(), count, 0, inverse.data_ptr<double>()}};
    launch.place = place;
    return launch;
  };
  const auto sphere = perturb(kernels::Distribution::normal);
  const auto rademacher = perturb(kernels::Distribution::rademacher);
  kernels::InverseLengths lengths;
  lengths.direction = sphere.direction;
  lengths.segments = {{0, static_cast<std::uint64_t>(count), inverse.data_ptr<double>()}};
  const auto scratch = torch::empty({table.lengths_scratch(lengths)}, options.dtype(torch::kDouble));
  lengths.scratch = scratch.data_ptr<double>();
  lengths.place = place;

  kernels::Dot<float> dot;
  dot.direction = sphere.direction;
  dot.segments = {{g.data_ptr<float>(), count, 0, inverse.data_ptr<double>()}};
  const auto sum = torch::zeros({1}, options.dtype(torch::kDouble));
  dot.out = sum.data_ptr<double>();
  const auto dot_scratch = torch::empty({of_float.dot_scratch(dot)}, sum.options());
  dot.scratch = dot_scratch.data_ptr<double>();
  dot.place = place;

  kernels::AdamProbe<float> along_step;
  along_step.segments = {{w.data_ptr<float>(), base.data_ptr<float>(), m.data_ptr<float>(),
                          v.data_ptr<float>(), g.data_ptr<float>(), count, update.segments[0].coefficients}};
  along_step.slope = sum.data_ptr<double>();
  const auto step_scratch = torch::empty({of_float.adam_probe_scratch(along_step)}, sum.options());
  along_step.scratch = step_scratch.data_ptr<double>();
  along_step.place = place;

  const auto rules =
      torch::empty({static_cast<std::int64_t>(sizeof(kernels::GroupRule))}, options.dtype(torch::kByte));
  kernels::GroupRule rule;
  rule.lr = 1e-6;
  table.set_rules({static_cast<kernels::GroupRule*>(rules.data_ptr()), {rule}, place});
  kernels::ProxSgdUpdate<float> prox;
  prox.segments = {{w.data_ptr<float>(), m.data_ptr<float>(), g.data_ptr<float>(), count,
                    static_cast<const kernels::GroupRule*>(rules.data_ptr())}};
  prox.place = place;

  const auto found = torch::zeros({1}, options.dtype(torch::kLong));
  const kernels::CountNonFinite<float> non_finite{
      {{g.data_ptr<float>(), count}}, found.data_ptr<std::int64_t>(), place};
  const auto largest = torch::zeros({1}, options);
  const kernels::cuda::AbsoluteMaximum<float> maximum{base.data_ptr<float>(), count,
                                                      largest.data_ptr<float>(), stream};
  const kernels::cuda::FakeQuantize<float> quantize{
      w.data_ptr<float>(),       base.data_ptr<float>(),          count,
      largest.data_ptr<float>(), kernels::quantization_levels(2), stream};

  struct Kernel {
    std::string name;
    std::function<void()> run;
    double arrays;  // read or written
    std::optional<Budget> budget;
  };
  const std::vector<Kernel> list = {
      {"copy", [&] { w.copy_(base); }, 2, {}},
      {"fused update", [&] { of_float.adam_update(update); }, 7, at_least(0.80)},
      {"perturb, sphere", [&] { of_float.perturb(sphere); }, 2, at_least(0.65)},
      {"perturb, sphere, length too",
       [&] {
         table.inverse_lengths(lengths);
         of_float.perturb(sphere);
       },
       2,
       {}},
      {"perturb, rademacher", [&] { of_float.perturb(rademacher); }, 2, at_least(0.65)},
      {"perturb along the step", [&] { of_float.adam_probe(along_step); }, 5, {}},
      {"gradient · direction", [&] { of_float.dot(dot); }, 1, {}},
      {"Prox-SGD's update", [&] { of_float.prox_sgd_update(prox); }, 5, {}},
      {"count what is not finite", [&] { of_float.count_non_finite(non_finite); }, 1, {}},
      {"largest absolute value", [&] { kernels::cuda::absolute_maximum(maximum); }, 1, {}},
      {"fake quantization", [&] { kernels::cuda::fake_quantize(quantize); }, 2, {}},
      {"length of a direction", [&] { table.inverse_lengths(lengths); }, 0, {}},
  };
  Measurements measurements;
  for (const auto& kernel : list)
    measurements.emplace_back(kernel.name, [&kernel] {
      return seconds_of(
                 [&kernel] {
                   for (int i = 0; i < 20; ++i) kernel.run();
                   c10::cuda::device_synchronize();
                 },
                 1) /
             20;
    });
  const auto times = measure_in_turns(measurements, rounds);
  report.begin("Kernels, " + millions(static_cast<double>(count)) + " parameters, float32",
               {"kernel", "ms", "TB/s", "share of copy's bandwidth", "budget"});
  for (const auto& kernel : list) {
    const auto& mine = times.at(kernel.name);
    const auto middle = spread_of(mine).median;
    if (kernel.arrays == 0) {
      report.row({kernel.name, milliseconds(mine), "", "", ""});
      continue;
    }
    const double bytes = kernel.arrays * 4 * static_cast<double>(count);
    Times share;
    for (std::size_t i = 0; i < mine.size(); ++i)
      share.push_back(kernel.arrays / 2 * times.at("copy")[i] / mine[i]);
    report.row({kernel.name, milliseconds(mine), fixed(bytes / middle / 1e12, 2),
                with_quartiles(spread_of(share), 2), report.verdict(spread_of(share).median, kernel.budget)});
  }
  report.end();
}

}  // namespace sadam::bench
