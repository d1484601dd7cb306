// Stands in for gloo.cpp and nccl.cpp where torch's Gloo or NCCL, or their headers, are not there.
#include <sadam/process_group.h>

namespace sadam {

using Group = std::shared_ptr<ProcessGroup>;
using Store = c10::intrusive_ptr<c10d::Store>;

#ifndef SADAM_HAVE_GLOO
bool has_gloo() { return false; }
Group make_gloo_group(const RankOptions&) {
  throw Error(
      "this sadam was built without Gloo: install Gloo's headers (libgloo-dev) beside a libtorch that has "
      "it, and build again.");
}
Group make_gloo_group(const Store&, const RankOptions& options) { return make_gloo_group(options); }
#endif

#ifndef SADAM_HAVE_NCCL
bool has_nccl() { return false; }
Group make_nccl_group(const RankOptions&, c10::Device) {
  throw Error(
      "this sadam was built without NCCL: build it with a libtorch for CUDA, and with nccl.h where CMake "
      "looks for headers.");
}
Group make_nccl_group(const Store&, const RankOptions& options, c10::Device device) {
  return make_nccl_group(options, device);
}
#endif

}  // namespace sadam
