// The processes that train a run together, seen from one of them.
#pragma once

#include <sadam/process_group.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sadam::train {

/// This process alone, or the ranks of a group. All of them call the same functions in the same order; alone,
/// these do nothing. Rank 0 leads: it has the run's folder, and the others train what it tells them.
class Team {
 public:
  Team() = default;
  /// Meets the others: by Gloo, or, where the program has none, by NCCL on this rank's GPU.
  explicit Team(const RankOptions& options);

  int rank() const;
  int size() const;
  bool leads() const { return rank() == 0; }
  /// Where this rank trains: of a recipe that says no more than "cuda", on its own GPU.
  c10::Device place(const std::string& device) const;
  /// What those that train on such devices talk by.
  const std::shared_ptr<ProcessGroup>& group_on(c10::Device device);

  /// Whether any says so.
  bool any(bool here) const;
  std::vector<double> sum(std::vector<double> numbers) const;
  /// Those of rank 0, whatever the others have.
  std::vector<double> of_leader(std::vector<double> numbers) const;
  /// Replaces the tensors, which are where the run trains, by those of rank 0.
  void share(const std::vector<at::Tensor>& tensors) const;
  /// Throws an Error that names the ranks with another checksum than rank 0: "rank 1 has `what`: `way_out`."
  void compare(std::uint32_t checksum, const std::string& what, const std::string& way_out) const;

  /// Says what the others train: a recipe, as in run.toml, from a checkpoint; an empty one: from the start.
  void announce(const std::string& recipe, std::span<const std::byte> checkpoint);
  /// There is nothing to do: the others end.
  void dismiss();
  /// Something went wrong: the others end with a sentence, if they still wait for work. Throws nothing.
  void call_off() noexcept;
  struct Work {
    std::string recipe;
    std::vector<std::byte> checkpoint;
  };
  /// What rank 0 announces; nothing if there is nothing to do. Throws an Error if rank 0 called it off.
  std::optional<Work> wait_for_work() const;

 private:
  void broadcast(const at::Tensor& tensor) const;

  RankOptions options_;
  std::shared_ptr<ProcessGroup> group_;
  std::shared_ptr<ProcessGroup> on_gpus_;        // where the other one is not
  c10::Device messages_ = c10::DeviceType::CPU;  // where its tensors are
  bool is_announced_ = false;
};

/// The other ranks of a run on this machine: processes of this program, which end with this one
/// (local_ranks.cpp).
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
