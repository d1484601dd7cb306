// What groups over torch's c10d have in common, whatever carries their messages: how ranks meet, and whom
// they name when one does not answer.
#pragma once

#include <sadam/process_group.h>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sadam {

/// The first line of what torch says, without the stack.
std::string first_line(const std::exception& error);

/// Throws unless they make sense. `caller` is for messages, as everywhere here.
void check(const RankOptions& options, const std::string& caller);

/// The store at a host and a port.
c10::intrusive_ptr<c10d::Store> make_store(const RankOptions& options, const std::string& caller);

/// Waits, at most this long; whether it is over. Throws what it failed with, and not that the time was too
/// short, which torch throws even if the work ends at that very moment.
bool is_over_within(c10d::Work& work, std::chrono::milliseconds limit);

class C10dGroup : public ProcessGroup {
 public:
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void sum(const std::vector<at::Tensor>& tensors) override { start_sum(tensors)(); }
  std::function<void()> start_sum(const std::vector<at::Tensor>& tensors) override;
  void broadcast(const std::vector<at::Tensor>& tensors) override;
  void wait_until(const std::function<bool()>& is_done) override;

 protected:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  /// What is under way, and what is left to do once it is over.
  struct Pending {
    WorkPtr work;
    std::function<void()> finish = nullptr;
  };
  using Launch = std::function<Pending(std::vector<at::Tensor>&)>;

  /// Waits until every rank has come to the store.
  C10dGroup(c10::intrusive_ptr<c10d::Store> store, const RankOptions& options, const std::string& caller);

  virtual Pending launch_sum(std::vector<at::Tensor>& one) = 0;
  virtual Pending launch_broadcast(std::vector<at::Tensor>& one) = 0;
  /// Throws unless it can be sent.
  virtual void check_place(const at::Tensor& tensor) const = 0;
  /// Waits, at most this long; whether it is over. Throws what it failed with.
  virtual bool is_over(c10d::Work& work, std::chrono::milliseconds limit) = 0;
  /// Ends what is under way, after which the group is of no use.
  virtual void abandon() {}

  /// Why there is no answer, in a sentence that names who is silent.
  std::string why(const std::exception& error) const;

  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }
  std::chrono::milliseconds timeout() const { return timeout_; }

 private:
  void meet(const std::string& caller);
  std::function<void()> exchange(const std::vector<at::Tensor>& tensors, const Launch& launch);
  /// Asks again and again, with a limit for each time, until the answer is yes, another rank gives up, or the
  /// time is over.
  void wait_for(const std::function<bool(std::chrono::milliseconds)>& is_over);
  [[noreturn]] void give_up(const std::exception& error);
  template <class Answer, class Question>
  std::optional<Answer> ask(std::chrono::milliseconds limit, const Question& question) const;

  c10::intrusive_ptr<c10d::Store> store_;
  int rank_;
  int size_;
  std::chrono::milliseconds timeout_;
  std::string lost_;  // why the group is of no use any more
};

}  // namespace sadam
