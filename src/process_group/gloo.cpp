// Gloo by way of torch's c10d. All that depends on c10d's classes is in this file: with libtorch 1.13
// ProcessGroupGloo is a c10d::ProcessGroup, from 2.0 on a c10d::Backend.
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <ATen/core/grad_mode.h>
#include <sadam/process_group.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

namespace sadam {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

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

/// The first line of what torch says, without the stack.
std::string first_line(const std::exception& error) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

void check(const RankOptions& options) {
  if (options.size() < 1 || options.rank() < 0 || options.rank() >= options.size())
    throw Error("make_gloo_group: there is no rank " + std::to_string(options.rank()) + " among " +
                std::to_string(options.size()) + ": ranks go from 0 to size - 1.");
  if (options.port() < 1 || options.port() > 65535)
    throw Error("make_gloo_group: the port must be between 1 and 65535, not " +
                std::to_string(options.port()) + ".");
  if (options.timeout() < milliseconds(1))
    throw Error("make_gloo_group: timeout must be at least a millisecond.");
}

c10::intrusive_ptr<c10d::Store> make_store(const RankOptions& options) {
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
      throw Error("make_gloo_group: rank 0 cannot wait for the others at " + where + " (" +
                  first_line(error) + "): choose another port.");
    throw Error("make_gloo_group: rank " + std::to_string(options.rank()) + " found no " +
                (options.store_is_there() ? "store" : "rank 0") + " at " + where + " within " +
                seconds(options.timeout()) + ": start all ranks, with the same host and port.");
  }
}

std::shared_ptr<::gloo::transport::Device> make_device(const std::string& host) {
  using c10d::ProcessGroupGloo;
  if (const char* const interface = std::getenv("GLOO_SOCKET_IFNAME"))
    return ProcessGroupGloo::createDeviceForInterface(interface);
  if (host == "localhost" || host == "127.0.0.1")  // whatever this machine's name resolves to
    return ProcessGroupGloo::createDeviceForHostname(host);
  return ProcessGroupGloo::createDefaultDevice();
}

class GlooGroup : public ProcessGroup {
 public:
  GlooGroup(c10::intrusive_ptr<c10d::Store> store, const RankOptions& options)
      : store_(std::move(store)), rank_(options.rank()), size_(options.size()), timeout_(options.timeout()) {
    meet();
    auto gloo = c10d::ProcessGroupGloo::Options::create(timeout_);
    try {
      gloo->devices.push_back(make_device(options.host()));
      gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, rank_, size_, gloo);
    } catch (const std::exception& error) {
      throw Error("make_gloo_group: rank " + std::to_string(rank_) + " could not connect to the others (" +
                  first_line(error) + "): see that they reach each other, or set GLOO_SOCKET_IFNAME.");
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void sum(const std::vector<torch::Tensor>& tensors) override {
    exchange(tensors, [this](std::vector<torch::Tensor>& one) { return gloo_->allreduce(one); });
  }
  void broadcast(const std::vector<torch::Tensor>& tensors) override {
    exchange(tensors, [this](std::vector<torch::Tensor>& one) { return gloo_->broadcast(one); });
  }

 private:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  static std::string key(const char* what, int rank) { return std::string(what) + std::to_string(rank); }

  /// Waits until every rank has come to the store.
  void meet() {
    const auto until = Clock::now() + timeout_;
    std::vector<int> missing;
    try {
      store_->set(key("here", rank_), {1});
    } catch (const std::exception& error) {
      throw Error("make_gloo_group: rank " + std::to_string(rank_) + " lost the store that rank 0 keeps (" +
                  first_line(error) + "): look at what rank 0 says.");
    }
    for (int r = 0; r < size_; ++r) {
      const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
      try {
        store_->wait({key("here", r)}, std::max(left, milliseconds(1)));
      } catch (const std::exception&) {
        missing.push_back(r);
      }
    }
    if (!missing.empty())
      throw Error("make_gloo_group: rank " + std::to_string(rank_) + " waited " + seconds(timeout_) +
                  " for " + names_of(missing) + " of " + std::to_string(size_) +
                  ": start all ranks, with the same host, port and size.");
  }

  void exchange(const std::vector<torch::Tensor>& tensors,
                const std::function<WorkPtr(std::vector<torch::Tensor>&)>& launch) {
    if (!lost_.empty()) throw Error(lost_);
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> sent;  // without gaps, as Gloo wants them
    for (const auto& tensor : tensors) {
      if (!tensor.is_cpu())
        throw Error("a Gloo group works on the CPU, and a tensor is elsewhere: train the model there.");
      sent.push_back(tensor.detach().contiguous());
    }
    try {
      std::vector<WorkPtr> works;
      for (const auto& tensor : sent) {
        std::vector<torch::Tensor> one{tensor};
        works.push_back(launch(one));
      }
      for (const auto& work : works) wait_for(*work);
    } catch (const std::exception& error) {
      lost_ = why(error);
      throw Error(lost_);
    }
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (!sent[i].is_alias_of(tensors[i])) tensors[i].detach().copy_(sent[i]);
  }

  /// Those beside a rank that died notice it at once. The rest learn it from the note that those leave.
  void wait_for(c10d::Work& work) const {
    while (true) {
      try {
        work.wait(kGlance);
        return;
      } catch (const std::exception&) {
        if (work.isCompleted()) throw;
      }
      const auto is_noted = ask<bool>(kGlance, [](c10d::Store& store) { return store.check({kGaveUp}); });
      if (is_noted.value_or(false)) throw Error("another rank gave up");
    }
  }

  /// Whoever gives up leaves a note in the store; those who have left none after a moment are dead, stopped,
  /// or not yet here.
  std::string why(const std::exception& error) const {
    const auto silent =
        ask<std::vector<int>>(kPatience + kGlance, [rank = rank_, size = size_](c10d::Store& store) {
          store.set(kGaveUp, {1});
          store.set(key(kGaveUp, rank), {1});
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
    const auto reason = " (" + first_line(error) + "): look at what that process says, and start all again.";
    if (!silent) return me + "because nothing is heard of rank 0" + reason;  // which keeps the store
    if (silent->empty()) return me + "as all the others did" + reason;
    return me + "because nothing is heard of " + names_of(*silent) + reason;
  }

  /// What the store answers in this time, if it does. A process that is stopped keeps whoever asks it waiting
  /// for ever: so a thread asks, which may be left behind.
  template <class Answer, class Question>
  std::optional<Answer> ask(milliseconds limit, const Question& question) const {
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

  static constexpr const char* kGaveUp = "gave up";
  static constexpr milliseconds kGlance{1000};    // between looks at the others' notes
  static constexpr milliseconds kPatience{3000};  // for their notes

  c10::intrusive_ptr<c10d::Store> store_;
  int rank_;
  int size_;
  milliseconds timeout_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  std::string lost_;  // why the group is of no use any more
};

}  // namespace

bool has_gloo() { return true; }

std::shared_ptr<ProcessGroup> make_gloo_group(const RankOptions& options) {
  check(options);
  return std::make_shared<GlooGroup>(make_store(options), options);
}

std::shared_ptr<ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                              const RankOptions& options) {
  check(options);
  if (!store) throw Error("make_gloo_group: there is no store: pass one, or a host and a port.");
  return std::make_shared<GlooGroup>(store, options);
}

}  // namespace sadam
