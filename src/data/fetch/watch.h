// How something long tells its caller how far it is, and how the caller ends it.
#pragma once

#include <sadam/error.h>

#include <cstdint>
#include <functional>

namespace sadam::data {

/// The caller asked to stop. What was done so far is kept where it is of use.
class Interrupted : public Error {
 public:
  using Error::Error;
};

struct Watch {
  /// Bytes done and in all (0: not known). Called often, from the caller's own thread.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
  /// Asked several times a second; true ends the work with Interrupted.
  std::function<bool()> stop = {};

  void check() const {
    if (stop && stop()) throw Interrupted("stopped; run the same command again to go on.");
  }
  void report(std::uint64_t done, std::uint64_t all) const {
    check();
    if (progress) progress(done, all);
  }
};

}  // namespace sadam::data
