// Every kernel alone, at three sizes, on one thread and on two. bytes_per_second counts what a kernel reads
// and writes, so that each can be held against `copy`; `squared_norm` touches no memory and counts the
// parameters that it takes the norm for.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace sadam::kernels {
namespace {

/// Arrays of parameter size, kept from one benchmark to the next: filling them takes longer than a kernel.
class Arrays {
 public:
  static constexpr std::size_t kArrays = 5;

  explicit Arrays(std::size_t count) {
    for (auto& array : arrays_) array.assign(count, 1e-3F);
  }
  float* operator[](std::size_t i) { return arrays_[i].data(); }

 private:
  std::vector<float> arrays_[kArrays];
};

/// One benchmark: what to launch on the arrays, and how many of them it reads and writes in all.
struct Entry {
  const char* name;
  int passes;
  void (*launch)(Arrays& arrays, std::int64_t count, int threads);
};

constexpr std::int64_t kStep = 2;
constexpr DirectionOfStep kDirection{1, &kStep, 3};

Place on(int threads) { return {threads, nullptr}; }

void perturb_with(Distribution distribution, Arrays& a, std::int64_t count, int threads) {
  cpu_kernels().of_float.perturb(
      {kDirection, distribution, 1e-6, {{a[0], a[1], count, 0, nullptr}}, on(threads)});
}
void dot_with(Distribution distribution, Arrays& a, std::int64_t count, int threads) {
  double sum = 0;
  cpu_kernels().of_float.dot(
      {kDirection, distribution, 1e-6, {{a[0], count, 0, nullptr}}, &sum, nullptr, on(threads)});
  benchmark::DoNotOptimize(sum);
}

const AdamCoefficients kCoefficients = [] {
  AdamCoefficients c;
  c.step_size = 1e-6;
  c.decay = 1 - 1e-8;
  return c;
}();

const GroupRule kRule = [] {
  GroupRule rule;
  rule.lr = 1e-6;
  rule.momentum = 0.9;
  rule.l1 = 1e-4;
  return rule;
}();

const std::vector<Entry> kEntries = {
    {"copy", 2,
     [](Arrays& a, std::int64_t n, int threads) {
       cpu_kernels().copy(
           {{{a[0], a[1], n * static_cast<std::int64_t>(sizeof(float))}}, nullptr, on(threads)});
     }},
    {"count_non_finite", 1,
     [](Arrays& a, std::int64_t n, int threads) {
       std::int64_t found = 0;
       cpu_kernels().of_float.count_non_finite({{{a[0], n}}, &found, on(threads)});
       benchmark::DoNotOptimize(found);
     }},
    {"perturb/normal", 2,
     [](Arrays& a, std::int64_t n, int threads) { perturb_with(Distribution::normal, a, n, threads); }},
    {"perturb/rademacher", 2,
     [](Arrays& a, std::int64_t n, int threads) { perturb_with(Distribution::rademacher, a, n, threads); }},
    {"squared_norm", 1,
     [](Arrays&, std::int64_t n, int threads) {
       benchmark::DoNotOptimize(squared_norm({kDirection.key(), 0, static_cast<std::uint64_t>(n), threads}));
     }},
    {"dot/normal", 1,
     [](Arrays& a, std::int64_t n, int threads) { dot_with(Distribution::normal, a, n, threads); }},
    {"dot/rademacher", 1,
     [](Arrays& a, std::int64_t n, int threads) { dot_with(Distribution::rademacher, a, n, threads); }},
    {"adam_update", 7,
     [](Arrays& a, std::int64_t n, int threads) {
       cpu_kernels().of_float.adam_update(
           {{{a[0], a[1], a[2], a[3], n, &kCoefficients}}, nullptr, on(threads)});
     }},
    {"adam_probe", 5,
     [](Arrays& a, std::int64_t n, int threads) {
       double slope = 0;
       cpu_kernels().of_float.adam_probe(
           {{{a[0], a[1], a[2], a[3], a[4], n, &kCoefficients}}, &slope, nullptr, on(threads)});
       benchmark::DoNotOptimize(slope);
     }},
    {"prox_sgd_update", 5,
     [](Arrays& a, std::int64_t n, int threads) {
       cpu_kernels().of_float.prox_sgd_update({{{a[0], a[1], a[2], n, &kRule}}, nullptr, on(threads)});
     }},
};

void register_all(Arrays& arrays) {
  for (const std::int64_t count : {1'000'000, 11'000'000, 100'000'000}) {
    for (const auto& entry : kEntries) {
      for (const int threads : {1, 2}) {
        const auto name = std::string(entry.name) + "/" + std::to_string(count / 1'000'000) +
                          "M/threads:" + std::to_string(threads);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&arrays, entry, count, threads](benchmark::State& state) {
                                       for (auto _ : state) {
                                         entry.launch(arrays, count, threads);
                                         benchmark::ClobberMemory();
                                       }
                                       state.SetBytesProcessed(state.iterations() * entry.passes * count *
                                                               static_cast<std::int64_t>(sizeof(float)));
                                     })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime()
            ->MeasureProcessCPUTime();
      }
    }
  }
}

}  // namespace
}  // namespace sadam::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  sadam::kernels::Arrays arrays(100'000'000);
  sadam::kernels::register_all(arrays);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
