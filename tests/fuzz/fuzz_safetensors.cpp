#include <sadam/error.h>
#include "fuzz/check_tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace weights = sadam::weights;
  weights::TensorFile file;
  try {
    file = weights::read_safetensors(std::as_bytes(std::span(data, size)));
  } catch (const sadam::Error&) {
    return 0;
  }
  weights::fuzz::check(file);
  weights::fuzz::check_round_trip(file);
  return 0;
}
