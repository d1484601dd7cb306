// What long work of the lab is told, and how it is stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/usage_error.h"

namespace sadam::lab {

struct LongWork {
  bool quick = false;  ///< fewer seeds and points, shorter runs, lower dimensions
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;                     ///< set from elsewhere: stop at once
  std::function<void(const std::string&)> progress = nullptr;  ///< told what is being worked on

  /// One of two sizes.
  template <class Number>
  Number size(Number full, Number small) const {
    return quick ? small : full;
  }
  void say(const std::string& what) const {
    if (progress) progress(what);
  }
  /// Throws Interrupted if asked to stop; long loops call it.
  void check_stop() const {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Interrupted{};
  }
};

}  // namespace sadam::lab
