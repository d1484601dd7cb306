#include "process_group/c10d_group.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <future>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

namespace sadam {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kGaveUp = "gave up";
constexpr milliseconds kGlance{500};     // between looks at the others' notes
constexpr milliseconds kPatience{3000};  // for their notes

std::string key(const char* what, int rank) { return std::string(what) + std::to_string(rank); }

/// "rank 1", "ranks 1 and 3".
std::string names_of(const std::vector<int>& ranks) {
  std::string names = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) names += i + 1 == ranks.size() ? " and " : ", ";
    names += std::to_string(ranks[i]);
  }
  return names;
}

std::string seconds(milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1000 << " s";
  return text.str();
}

}  // namespace

std::string first_line(const std::exception& error) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

void check(const RankOptions& options, const std::string& caller) {
  if (options.size() < 1 || options.rank() < 0 || options.rank() >= options.size())
    throw Error(caller + ": there is no rank " + std::to_string(options.rank()) + " among " +
                std::to_string(options.size()) + ": ranks go from 0 to size - 1.");
  if (options.port() < 1 || options.port() > 65535)
    throw Error(caller + ": the port must be between 1 and 65535, not " + std::to_string(options.port()) +
                ".");
  if (options.timeout() < milliseconds(1)) throw Error(caller + ": timeout must be at least a millisecond.");
}

c10::intrusive_ptr<c10d::Store> make_store(const RankOptions& options, const std::string& caller) {
  c10d::TCPStoreOptions tcp;
  tcp.port = static_cast<std::uint16_t>(options.port());
  tcp.isServer = options.rank() == 0 && !options.store_is_there();
  tcp.numWorkers = static_cast<std::size_t>(options.size());
  tcp.waitWorkers = false;  // meet() does, and says who is missing
  tcp.timeout = options.timeout();
  const auto where = options.host() + ":" + std::to_string(options.port());
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(options.host(), tcp);
    if (options.prefix().empty()) return store;
    return c10::make_intrusive<c10d::PrefixStore>(options.prefix(), std::move(store));
  } catch (const std::exception& error) {
    if (tcp.isServer)
      throw Error(caller + ": rank 0 cannot wait for the others at " + where + " (" + first_line(error) +
                  "): choose another port, or a host that is this machine (MASTER_PORT, MASTER_ADDR).");
    throw Error(caller + ": rank " + std::to_string(options.rank()) + " found no " +
                (options.store_is_there() ? "store" : "rank 0") + " at " + where + " within " +
                seconds(options.timeout()) + ": start all ranks, with the same host and port.");
  }
}

bool is_over_within(c10d::Work& work, milliseconds limit) {
  try {
    return work.wait(limit);
  } catch (const std::exception&) {
    if (!work.isCompleted()) return false;
    if (work.isSuccess()) return true;
    throw;
  }
}

C10dGroup::C10dGroup(c10::intrusive_ptr<c10d::Store> store, const RankOptions& options,
                     const std::string& caller)
    : store_(std::move(store)), rank_(options.rank()), size_(options.size()), timeout_(options.timeout()) {
  meet(caller);
}

void C10dGroup::meet(const std::string& caller) {
  const auto until = Clock::now() + timeout_;
  std::vector<int> missing;
  bool is_first = true;
  try {
    is_first = store_->add(key("here", rank_), 1) == 1;
  } catch (const std::exception& error) {
    throw Error(caller + ": rank " + std::to_string(rank_) + " lost the store that rank 0 keeps (" +
                first_line(error) + "): look at what rank 0 says.");
  }
  if (!is_first)  // before anything is written that those of the other job would read
    throw Error(caller + ": there is a rank " + std::to_string(rank_) +
                " already, as if another job met at the same host and port, or this group were made twice: "
                "choose another port (MASTER_PORT) or prefix.");
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    try {
      if (left > milliseconds(0))
        store_->wait({key("here", r)}, left);
      else if (!store_->check({key("here", r)}))
        missing.push_back(r);
    } catch (const std::exception&) {
      missing.push_back(r);
    }
  }
  if (!missing.empty())
    throw Error(caller + ": rank " + std::to_string(rank_) + " waited " + seconds(timeout_) + " for " +
                names_of(missing) + " of " + std::to_string(size_) +
                ": start all ranks, with the same host, port and size.");
}

// ---- messages ---------------------------------------------------------------------------------------------

std::function<void()> C10dGroup::start_sum(const std::vector<at::Tensor>& tensors) {
  return exchange(tensors, [this](std::vector<at::Tensor>& one) { return launch_sum(one); });
}

void C10dGroup::broadcast(const std::vector<at::Tensor>& tensors) {
  exchange(tensors, [this](std::vector<at::Tensor>& one) { return launch_broadcast(one); })();
}

/// Returns what waits for the answers.
std::function<void()> C10dGroup::exchange(const std::vector<at::Tensor>& tensors, const Launch& launch) {
  if (!lost_.empty()) throw Error(lost_);
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> sent;  // without gaps, as c10d wants them
  for (const auto& tensor : tensors) {
    check_place(tensor);
    sent.push_back(tensor.detach().contiguous());
  }
  std::vector<Pending> all;
  try {
    for (const auto& tensor : sent) {
      std::vector<at::Tensor> one{tensor};
      all.push_back(launch(one));
    }
  } catch (const std::exception& error) {
    give_up(error);
  }
  return [this, tensors, sent = std::move(sent), all = std::move(all)] {
    if (!lost_.empty()) throw Error(lost_);
    const at::NoGradGuard not_needed;
    for (const auto& pending : all) {
      wait_for([&](milliseconds limit) { return is_over(*pending.work, limit); });
      if (pending.finish) pending.finish();
    }
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (!sent[i].is_alias_of(tensors[i])) tensors[i].detach().copy_(sent[i]);
  };
}

void C10dGroup::wait_until(const std::function<bool()>& is_done) {
  if (!lost_.empty()) throw Error(lost_);
  wait_for([&](milliseconds limit) {
    for (const auto until = Clock::now() + limit; Clock::now() < until;) {
      if (is_done()) return true;
      std::this_thread::yield();
    }
    return false;
  });
}

/// Those beside a rank that died notice it at once. The rest learn it from the note that those leave.
void C10dGroup::wait_for(const std::function<bool(milliseconds)>& is_over) {
  const auto until = Clock::now() + timeout_;
  try {
    while (!is_over(kGlance)) {
      const auto is_noted = ask<bool>(kGlance, [](c10d::Store& store) { return store.check({kGaveUp}); });
      if (is_noted.value_or(false)) throw Error("another rank gave up");
      if (Clock::now() > until) throw Error("no answer within " + seconds(timeout_));
    }
  } catch (const std::exception& error) {
    give_up(error);
  }
}

// ---- when there is no answer ------------------------------------------------------------------------------

void C10dGroup::give_up(const std::exception& error) {
  lost_ = why(error);
  abandon();
  throw Error(lost_);
}

/// Whoever gives up leaves a note in the store; those who have left none after a moment are dead, stopped, or
/// not yet here.
std::string C10dGroup::why(const std::exception& error) const {
  const auto silent =
      ask<std::vector<int>>(kPatience + kGlance, [rank = rank_, size = size_](c10d::Store& store) {
        store.set(kGaveUp, std::vector<std::uint8_t>{1});
        store.set(key(kGaveUp, rank), std::vector<std::uint8_t>{1});
        const auto look = [&] {
          std::vector<int> missing;
          for (int r = 0; r < size; ++r)
            if (!store.check({key(kGaveUp, r)})) missing.push_back(r);
          return missing;
        };
        auto missing = look();
        try {
          for (const auto until = Clock::now() + kPatience; !missing.empty() && Clock::now() < until;) {
            std::this_thread::sleep_for(milliseconds(20));
            missing = look();
          }
        } catch (const std::exception&) {
          // rank 0 has ended, and the store with it: what was seen before counts
        }
        return missing;
      });
  const auto me = "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " gave up, ";
  const bool is_one = !silent || silent->size() == 1;
  const auto reason = " (" + first_line(error) + "): look at what " +
                      (is_one ? "that process says" : "they say") + ", and start all again.";
  if (!silent) return me + "because nothing is heard of rank 0" + reason;  // which keeps the store
  if (silent->empty()) return me + "as all the others did" + reason;
  return me + "because nothing is heard of " + names_of(*silent) + reason;
}

/// What the store answers in this time, if it does. A process that is stopped keeps whoever asks it waiting
/// for ever: so a thread asks, which may be left behind.
template <class Answer, class Question>
std::optional<Answer> C10dGroup::ask(milliseconds limit, const Question& question) const {
  const auto promise = std::make_shared<std::promise<std::optional<Answer>>>();
  auto answer = promise->get_future();
  std::thread([promise, question, store = store_] {
    std::optional<Answer> found;
    try {
      found = question(*store);
    } catch (const std::exception&) {
      // no answer either
    }
    promise->set_value(std::move(found));
  }).detach();
  if (answer.wait_for(limit) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace sadam
