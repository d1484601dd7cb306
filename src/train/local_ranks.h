// The other ranks of a run on this machine: processes of this program, which end with this one.
#pragma once

#include <sadam/error.h>

#include <memory>
#include <string>
#include <vector>

#include "train/team.h"

namespace sadam::train {

class LocalRanks {
 public:
  /// Starts all but rank 0, which is this process, and waits until they are there. Each is `sadam train
  /// --join`.
  explicit LocalRanks(int size);
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  Team& team() { return team_; }
  /// Why the run failed on this rank with that error: where one of the others ended first, how and with which
  /// words.
  std::string explanation(const Error& error);

 private:
  struct Process;
  Team meet(const RankOptions& options);
  std::string name_of(std::size_t process) const;

  int size_;
  std::vector<std::unique_ptr<Process>> processes_;
  Team team_;
};

}  // namespace sadam::train
