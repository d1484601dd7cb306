// Stands in for gloo.cpp where torch's Gloo, or its headers, are not there.
#include <sadam/process_group.h>

namespace sadam {
namespace {

[[noreturn]] void refuse_gloo() {
  throw Error(
      "this sadam was built without Gloo: install Gloo's headers (libgloo-dev) beside a libtorch that has "
      "it, "
      "and build again.");
}

}  // namespace

bool has_gloo() { return false; }
std::shared_ptr<ProcessGroup> make_gloo_group(const RankOptions&) { refuse_gloo(); }
std::shared_ptr<ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>&, const RankOptions&) {
  refuse_gloo();
}

}  // namespace sadam
