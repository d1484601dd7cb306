// Whether the machine was ours while we measured.
#pragma once

namespace sadam::bench {

/// Watches the processors from its construction on.
class OtherProcesses {
 public:
  OtherProcesses();
  /// Of all processor time since then, the part that was used neither by this process nor by children that
  /// have ended, in [0, 1]. What the host of a virtual machine took counts. 0 where the system does not tell.
  double share() const;

 private:
  struct Reading {
    double total = 0;  ///< seconds, all processors together
    double busy = 0;
    double ours = 0;
  };
  static Reading now();

  Reading start_;
};

}  // namespace sadam::bench
