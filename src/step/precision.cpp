#include "step/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include <cstddef>
#include <string>
#include <utility>

#define SADAM_TORCH_IS_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace sadam::step {
namespace {

// torch 2.4 replaced the functions of one device by functions that take it.
#if SADAM_TORCH_IS_AT_LEAST(2, 4)
at::DeviceType device_type(bool cuda) { return cuda ? at::kCUDA : at::kCPU; }
bool autocasts(bool cuda) { return at::autocast::is_autocast_enabled(device_type(cuda)); }
at::ScalarType autocast_type(bool cuda) { return at::autocast::get_autocast_dtype(device_type(cuda)); }
void set_autocast(bool cuda, bool enabled, at::ScalarType type) {
  at::autocast::set_autocast_enabled(device_type(cuda), enabled);
  at::autocast::set_autocast_dtype(device_type(cuda), type);
}
#else
bool autocasts(bool cuda) { return cuda ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled(); }
at::ScalarType autocast_type(bool cuda) {
  return cuda ? at::autocast::get_autocast_gpu_dtype() : at::autocast::get_autocast_cpu_dtype();
}
void set_autocast(bool cuda, bool enabled, at::ScalarType type) {
  cuda ? at::autocast::set_enabled(enabled) : at::autocast::set_cpu_enabled(enabled);
  cuda ? at::autocast::set_autocast_gpu_dtype(type) : at::autocast::set_autocast_cpu_dtype(type);
}
#endif

// In the order of at::Float32MatmulPrecision.
constexpr std::array<const char*, 3> kMatmulNames{"highest", "high", "medium"};

struct Float32Modes {
  int matmul = 0;
  bool tf32_in_cudnn = false;
  std::array<int, 9> modes{};
};

// What the settings come to.
struct Effective {
  bool on_cpu = false;  // reduced
  bool on_cuda = false;
  std::array<int, 9> modes{};
};

// torch 2.11 has a setting for each backend and operation, of which an unset one follows its parent. It also
// keeps the two older flags, and refuses to answer (throws, from the profiler for one) where they and the
// settings disagree. So both are read, set and put back together. Older versions have the flags alone.
#if SADAM_TORCH_IS_AT_LEAST(2, 11)
using at::Float32Backend;
using at::Float32Op;
using Mode = at::Float32Precision;

// Parents come first.
constexpr std::array<std::pair<Float32Backend, Float32Op>, 9> kSettings{{
    {Float32Backend::GENERIC, Float32Op::ALL},
    {Float32Backend::CUDA, Float32Op::ALL},
    {Float32Backend::MKLDNN, Float32Op::ALL},
    {Float32Backend::CUDA, Float32Op::CONV},
    {Float32Backend::CUDA, Float32Op::RNN},
    {Float32Backend::CUDA, Float32Op::MATMUL},
    {Float32Backend::MKLDNN, Float32Op::CONV},
    {Float32Backend::MKLDNN, Float32Op::RNN},
    {Float32Backend::MKLDNN, Float32Op::MATMUL},
}};

void set_modes(const std::array<int, 9>& modes) {
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    at::globalContext().setFloat32Precision(kSettings[i].first, kSettings[i].second,
                                            static_cast<Mode>(modes[i]));
}

// The flag can only be read while it agrees with both settings.
bool read_tf32_in_cudnn(bool likely) {
  auto& context = at::globalContext();
  for (const auto op : {Float32Op::CONV, Float32Op::RNN})
    context.setFloat32Precision(Float32Backend::CUDA, op, likely ? Mode::TF32 : Mode::IEEE);
  try {
    return context.allowTF32CuDNN();
  } catch (const c10::Error&) {
    return !likely;
  }
}

Float32Modes read_modes() {
  auto& context = at::globalContext();
  Float32Modes read;
  // torch answers with what a setting comes to. Once its parents are unset that is the setting itself.
  const bool convolves_in_tf32 = context.allowTF32CuDNN(Float32Op::CONV);
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const auto& [backend, op] = kSettings[i];
    read.modes[i] = static_cast<int>(context.float32Precision(backend, op));
    context.setFloat32Precision(backend, op, Mode::NONE);
  }
  read.matmul = static_cast<int>(context.float32MatmulPrecision());
  read.tf32_in_cudnn = read_tf32_in_cudnn(convolves_in_tf32);
  set_modes(read.modes);
  return read;
}

Effective effective_modes() {
  Effective found;
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const auto& [backend, op] = kSettings[i];
    const auto mode = at::globalContext().float32Precision(backend, op);
    const bool reduced = mode == Mode::TF32 || mode == Mode::BF16;
    if (backend == Float32Backend::CUDA) found.on_cuda |= reduced && op != Float32Op::ALL;
    if (backend == Float32Backend::MKLDNN) found.on_cpu |= reduced && op != Float32Op::ALL;
    found.modes[i] = static_cast<int>(mode);
  }
  return found;
}

void set_everything(Mode cuda) {
  // The two flags have set the settings that they know; these would still follow their parents.
  std::array<int, 9> modes{};
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const bool of_cuda = kSettings[i].first == Float32Backend::CUDA;
    modes[i] = static_cast<int>(of_cuda ? cuda : Mode::IEEE);
  }
  set_modes(modes);
}
void no_mode_is_reduced() { set_everything(Mode::IEEE); }
void cuda_modes_are_tf32() { set_everything(Mode::TF32); }
#else
Float32Modes read_modes() {
  const auto& context = at::globalContext();
  Float32Modes read;
  read.matmul = static_cast<int>(context.float32MatmulPrecision());
  read.tf32_in_cudnn = context.allowTF32CuDNN();
  return read;
}

Effective effective_modes() {
  const auto read = read_modes();
  Effective found;
  found.on_cuda = read.matmul != 0 || read.tf32_in_cudnn;
  found.on_cpu = read.matmul == static_cast<int>(at::Float32MatmulPrecision::MEDIUM);
  found.modes[0] = read.matmul;
  found.modes[1] = read.tf32_in_cudnn ? 1 : 0;
  return found;
}
void set_modes(const std::array<int, 9>&) {}
void no_mode_is_reduced() {}
void cuda_modes_are_tf32() {}
#endif

void set_flags(int matmul, bool tf32_in_cudnn) {
  at::globalContext().setFloat32MatmulPrecision(
      std::string(kMatmulNames.at(static_cast<std::size_t>(matmul))));
  at::globalContext().setAllowTF32CuDNN(tf32_in_cudnn);
}

}  // namespace

bool autocasts_now() { return autocasts(false) || autocasts(true); }

Precision::Precision()
    : autocast_cpu_{autocasts(false), autocast_type(false)},
      autocast_cuda_{autocasts(true), autocast_type(true)} {
  const auto found = effective_modes();
  reduced_on_cpu_ = found.on_cpu || autocast_cpu_.enabled;
  reduced_on_cuda_ = found.on_cuda || autocast_cuda_.enabled;
  modes_ = found.modes;
}

PrecisionState::PrecisionState()
    : autocast_cpu_{autocasts(false), autocast_type(false)},
      autocast_cuda_{autocasts(true), autocast_type(true)} {
  const auto read = read_modes();
  matmul_ = read.matmul;
  tf32_in_cudnn_ = read.tf32_in_cudnn;
  modes_ = read.modes;
}

void PrecisionState::restore() const {
  set_autocast(false, autocast_cpu_.enabled, autocast_cpu_.type);
  set_autocast(true, autocast_cuda_.enabled, autocast_cuda_.type);
  set_flags(matmul_, tf32_in_cudnn_);
  set_modes(modes_);
}

void use_full_precision() {
  for (const bool cuda : {false, true}) set_autocast(cuda, false, autocast_type(cuda));
  set_flags(0, false);
  no_mode_is_reduced();
}

void use_tf32() {
  set_flags(1, true);
  cuda_modes_are_tf32();
}

void use_autocast(bool cuda, c10::ScalarType type) { set_autocast(cuda, true, type); }

}  // namespace sadam::step
