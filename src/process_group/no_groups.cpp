// Stands in for gloo.cpp and nccl.cpp where torch's Gloo or NCCL, or their headers, are not there.
#include <sadam/process_group.h>

namespace sadam {

#ifndef SADAM_HAVE_GLOO
namespace {

[[noreturn]] void refuse_gloo() {
  throw Error(
      "this sadam was built without Gloo: install Gloo's headers (libgloo-dev) beside a libtorch that has "
      "it, and build again.");
}

}  // namespace

bool has_gloo() { return false; }
std::shared_ptr<ProcessGroup> make_gloo_group(const RankOptions&) { refuse_gloo(); }
std::shared_ptr<ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>&, const RankOptions&) {
  refuse_gloo();
}
#endif

#ifndef SADAM_HAVE_NCCL
namespace {

[[noreturn]] void refuse_nccl() {
  throw Error(
      "this sadam was built without NCCL: build it with a libtorch for CUDA, and with nccl.h where CMake "
      "looks for headers.");
}

}  // namespace

bool has_nccl() { return false; }
std::shared_ptr<ProcessGroup> make_nccl_group(const RankOptions&, c10::Device) { refuse_nccl(); }
std::shared_ptr<ProcessGroup> make_nccl_group(const c10::intrusive_ptr<c10d::Store>&, const RankOptions&,
                                              c10::Device) {
  refuse_nccl();
}
#endif

}  // namespace sadam
