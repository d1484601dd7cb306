#include "precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include <string>

namespace sadam::probe {
namespace {

// torch 2.4 replaced the functions of one device by functions that take it.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool autocast_enabled() { return at::autocast::is_autocast_enabled(at::kCPU); }
void set_autocast(bool enabled) { at::autocast::set_autocast_enabled(at::kCPU, enabled); }
#else
bool autocast_enabled() { return at::autocast::is_cpu_enabled(); }
void set_autocast(bool enabled) { at::autocast::set_cpu_enabled(enabled); }
#endif

}  // namespace

FullPrecision::FullPrecision() : autocast_(autocast_enabled()) {
  const auto precision = at::globalContext().float32MatmulPrecision();
  reduced_matmul_ = precision != at::Float32MatmulPrecision::HIGHEST;
  matmul_precision_ = precision == at::Float32MatmulPrecision::HIGH ? "high" : "medium";
  if (autocast_) set_autocast(false);
  if (reduced_matmul_) at::globalContext().setFloat32MatmulPrecision(std::string("highest"));
}

FullPrecision::~FullPrecision() {
  if (autocast_) set_autocast(true);
  if (reduced_matmul_) at::globalContext().setFloat32MatmulPrecision(std::string(matmul_precision_));
}

}  // namespace sadam::probe
