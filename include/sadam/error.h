// The one exception the library throws of its own accord.
#pragma once

#include <stdexcept>

namespace sadam {

/// Something the caller can put right: a bad option, an unsuitable parameter, a closure that does not return
/// a loss. `what()` is one sentence that names the thing and the way out. Whenever it is thrown, optimizer
/// and model are as they were before the call. (One exception: with `group_by_group` and several groups,
/// those before the group whose probe failed have been updated.)
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sadam
