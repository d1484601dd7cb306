// Stands in for nccl.cpp where torch's NCCL, or its headers, are not there.
#include <sadam/process_group.h>

namespace sadam {
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

}  // namespace sadam
