#include <sadam/error.h>
#include "fuzz/check_tensor_file.h"
#include "nn/weights/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace weights = sadam::weights;
  try {
    weights::fuzz::check(weights::read_pth(std::as_bytes(std::span(data, size))));
  } catch (const sadam::Error&) {
  }
  return 0;
}
