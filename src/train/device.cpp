#include "train/device.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>
#include <malloc.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <charconv>
#include <cstdlib>  // says whether this is glibc
#include <fstream>

#include "base/text.h"
#include "base/usage_error.h"
#include "step/backend.h"

namespace sadam::train {
namespace {

// Since torch 2.2 deterministic algorithms also fill all new memory with NaN, a pass over every tensor, for
// programs that read what they have not written. Ours do not.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
bool fills_new_memory() { return at::globalContext().deterministicFillUninitializedMemory(); }
void fill_new_memory(bool fill) { at::globalContext().setDeterministicFillUninitializedMemory(fill); }
#else
bool fills_new_memory() { return false; }
void fill_new_memory(bool) {}
#endif

// Of "cuda" or "cuda:N".
int gpu_number_in(const std::string& name) {
  constexpr std::string_view kPrefix = "cuda:";
  constexpr std::size_t kMostDigits = 3;
  if (name == "cuda") return 0;
  int number = -1;
  if (name.starts_with(kPrefix) && name.size() <= kPrefix.size() + kMostDigits) {
    const auto* const end = name.data() + name.size();
    if (std::from_chars(name.data() + kPrefix.size(), end, number).ptr != end) number = -1;
  }
  if (number < 0)
    throw UsageError(fmt::format("there is no device {}: use cpu, cuda or cuda:N.", base::in_quotes(name)));
  return number;
}

}  // namespace

c10::Device device_named(const std::string& name) {
  if (name == "cpu") return c10::kCPU;
  const int number = gpu_number_in(name);
  if (!step::built_with_cuda())
    throw Error(
        "this sadam was built without CUDA: build it with nvcc and a libtorch for CUDA, or use --device "
        "cpu.");
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (number >= count)
    throw Error(fmt::format("there is no GPU {} here (GPUs here: {}): use another one, or --device cpu.",
                            number, count));
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(number)};
}

std::vector<std::string> gpu_lines() {
  if (!step::built_with_cuda()) return {"none (built without CUDA)"};
  std::vector<std::string> lines;
  const auto count = static_cast<int>(torch::cuda::device_count());
  for (int i = 0; i < count; ++i)
    lines.push_back(
        fmt::format("cuda:{}, {}", i, device_model({c10::kCUDA, static_cast<c10::DeviceIndex>(i)})));
  if (lines.empty()) lines.emplace_back("none answers");
  return lines;
}

void reset_peak_memory() {
#ifdef __GLIBC__
  malloc_trim(0);  // what earlier work has freed is not this one's
#endif
  std::ofstream("/proc/self/clear_refs") << "5";  // Linux: sets VmHWM back to what is resident now
}

std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

TrainingPrecision::TrainingPrecision(Precision precision, bool cuda)
    : cached_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::clear_cache();
  at::autocast::set_autocast_cache_enabled(false);
  step::use_full_precision();
  switch (precision) {
    case Precision::float32:
      break;
    case Precision::tf32:
      if (cuda) step::use_tf32();
      break;
    case Precision::bf16:
      step::use_autocast(cuda, at::kBFloat16);
      break;
  }
}

TrainingPrecision::~TrainingPrecision() {
  before_.restore();
  at::autocast::set_autocast_cache_enabled(cached_);
}

Deterministic::Deterministic() : before_(now()) {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  set({true, false, true, false, false});
}

Deterministic::~Deterministic() { set(before_); }

Deterministic::Settings Deterministic::now() {
  const auto& context = at::globalContext();
  return {context.deterministicAlgorithms(), context.deterministicAlgorithmsWarnOnly(),
          context.deterministicCuDNN(), context.benchmarkCuDNN(), fills_new_memory()};
}

void Deterministic::set(const Settings& settings) {
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(settings.algorithms, settings.warn_only);
  context.setDeterministicCuDNN(settings.cudnn);
  context.setBenchmarkCuDNN(settings.benchmark);
  fill_new_memory(settings.fill);
}

}  // namespace sadam::train
