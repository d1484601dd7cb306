// How it is told what becomes of the runs of a plan. Private to execute.cpp and workers.cpp.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "reproduce/execute.h"

namespace sadam::reproduce {

/// Told by the process that trains.
class Herald {
 public:
  virtual ~Herald() = default;
  /// A column whose data or weights are not here.
  virtual void left_out(std::size_t column, const std::string& why) = 0;
  virtual void begun(const PlannedRun& run) = 0;
  /// Trained to its end.
  virtual void ended(const PlannedRun& run) = 0;
  /// Not trained to its end; the others go on.
  virtual void failed(const PlannedRun& run, const std::string& why) = 0;
};

/// Tells a person: which run is next, how each ended, and when all will have.
class Teller : public Herald {
 public:
  Teller(const Plan& plan, const ExecuteOptions& options, std::size_t open);

  void left_out(std::size_t column, const std::string& why) override;
  void begun(const PlannedRun& run) override;
  void ended(const PlannedRun& run) override;
  void failed(const PlannedRun& run, const std::string& why) override;

  /// "3 of 12 done, ETA 3:20"; without a time before the first run has ended.
  std::string standing() const;

 private:
  std::size_t done_before() const { return plan_.runs.size() - open_; }

  const Plan& plan_;
  const ExecuteOptions& options_;
  // Said before the next run begins. Where none does, the caller has nothing else to say.
  std::string notices_;
  std::size_t open_;
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;
  double start_;
};

/// To the last checkpoint: events alone may be ahead of it.
bool is_finished(const PlannedRun& run);

/// Whether some process has a run of the plan.
bool is_in_hand(const Plan& plan);

/// A number that changes with any run of the plan.
std::string fingerprint(const Plan& plan);

/// Trains the runs that are `open` in processes of their own.
Execution execute_with_workers(const Plan& plan, const ExecuteOptions& options,
                               const std::vector<const PlannedRun*>& open);

/// What a worker writes to the process that started it, line by line.
class WorkerReport : public Herald {
 public:
  WorkerReport(const Plan& plan, std::ostream& out) : plan_(plan), out_(out) {}

  void left_out(std::size_t column, const std::string& why) override;
  void begun(const PlannedRun& run) override;
  void ended(const PlannedRun& run) override;
  void failed(const PlannedRun& run, const std::string& why) override;

 private:
  void say(char kind, std::size_t index, const std::string& text = "");

  const Plan& plan_;
  std::ostream& out_;
};

}  // namespace sadam::reproduce
