// The group itself. Ranks are threads here, which meet in a store of this process.
#include <netinet/in.h>
#include <sadam/process_group.h>
#include <sys/socket.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <future>
#include <thread>

#include "process_group/c10d_group.h"
#include "process_group/ranks.h"
#include "support/refusal.h"

namespace sadam::testing {
namespace {

void on_threads(int size, const std::function<void(ProcessGroup&)>& body) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      const auto options = RankOptions().rank(rank).size(size).timeout(std::chrono::seconds(30));
      const auto group = make_gloo_group(store, options);
      EXPECT_EQ(group->rank(), rank);
      EXPECT_EQ(group->size(), size);
      body(*group);
    });
  for (auto& thread : threads) thread.join();
}

TEST(GlooGroup, SumsTensorsOfAnyTypeAndLayout) {
  for (const int size : {1, 2, 3})
    on_threads(size, [&](ProcessGroup& group) {
      const double r = group.rank();
      const auto plain = torch::full({3}, r, torch::kDouble);
      const auto transposed = torch::full({2, 5}, 2 * r, torch::kFloat).t();
      const auto with_gaps = torch::full({4, 2}, r + 1).slice(1, 0, 1);
      const auto parameter = torch::full({2}, r, torch::requires_grad());
      const auto one = torch::full({1}, r);
      const auto scalar = torch::full({}, r, torch::kDouble);
      const auto none = torch::empty({0});
      const auto large = torch::full({1 << 20}, r);
      group.sum({plain, transposed, with_gaps, parameter, one, scalar, none, large});
      const double all = size * (size - 1) / 2.0;
      EXPECT_TRUE(torch::equal(plain, torch::full({3}, all, torch::kDouble)));
      EXPECT_TRUE(torch::equal(transposed, torch::full({5, 2}, 2 * all)));
      EXPECT_TRUE(torch::equal(with_gaps, torch::full({4, 1}, all + size)));
      EXPECT_TRUE(torch::equal(parameter, torch::full({2}, all)));
      EXPECT_EQ(one.item<double>(), all);
      EXPECT_EQ(scalar.item<double>(), all);
      EXPECT_TRUE(torch::equal(large, torch::full({1 << 20}, all)));
    });
}

TEST(GlooGroup, BroadcastsFromRankZero) {
  on_threads(3, [](ProcessGroup& group) {
    const auto weights = torch::full({2, 3}, 5.0 - group.rank(), torch::requires_grad());
    const auto column = torch::full({3, 2}, 7.0 - group.rank()).slice(1, 1, 2);
    group.broadcast({weights, column});
    EXPECT_TRUE(torch::equal(weights, torch::full({2, 3}, 5.0)));
    EXPECT_TRUE(torch::equal(column, torch::full({3, 1}, 7.0)));
  });
}

TEST(GlooGroup, RefusesWhatCannotBe) {
  EXPECT_TRUE(says(refusal([] { make_gloo_group(RankOptions().rank(2).size(2)); }), "no rank 2 among 2"));
  EXPECT_TRUE(says(refusal([] { make_gloo_group(RankOptions().port(0)); }), "between 1 and 65535"));
  EXPECT_TRUE(says(refusal([] { make_gloo_group(c10::intrusive_ptr<c10d::Store>(), RankOptions()); }),
                   "there is no store"));
}

/// Work whose time limit is over, and that has or has not ended meanwhile.
class LateWork : public c10d::Work {
 public:
  LateWork(bool has_ended, bool well) : has_ended_(has_ended), well_(well) {}
  bool wait(std::chrono::milliseconds) override { throw std::runtime_error("Operation timed out!"); }
  bool isCompleted() override { return has_ended_; }
  bool isSuccess() const override { return well_; }

 private:
  bool has_ended_, well_;
};

TEST(GlooGroup, WorkThatEndsAsItsTimeIsOverIsNoFailure) {
  const auto is_over = [](LateWork work) { return is_over_within(work, std::chrono::milliseconds(1)); };
  EXPECT_FALSE(is_over({false, false}));
  EXPECT_TRUE(is_over({true, true}));
  EXPECT_THROW(is_over({true, false}), std::runtime_error);
}

TEST(GlooGroup, ARankThatIsThereAlreadyIsRefusedAndHarmsNobody) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto options = RankOptions().size(2).timeout(std::chrono::seconds(30));
  std::promise<void> is_refused;
  std::thread other([&] {
    const auto group = make_gloo_group(store, RankOptions(options).rank(1));
    EXPECT_TRUE(says(refusal([&] { make_gloo_group(store, RankOptions(options).rank(1)); }),
                     "there is a rank 1 already"));
    is_refused.get_future().wait();
    const auto one = torch::ones({1});
    group->sum({one});
    EXPECT_EQ(one.item<double>(), 2);
  });
  const auto group = make_gloo_group(store, options);
  const auto one = torch::ones({1});
  const auto wait = group->start_sum({one});
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // until it looks for notes of others
  is_refused.set_value();
  wait();
  EXPECT_EQ(one.item<double>(), 2);
  other.join();
}

TEST(GlooGroup, SaysThatAPortIsInUse) {
  const int listener = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t length = sizeof(address);
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), length);
  ::listen(listener, 1);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const int port = ntohs(address.sin6_port);
  const auto sentence =
      refusal([&] { make_gloo_group(RankOptions().port(port).timeout(std::chrono::seconds(2))); });
  EXPECT_TRUE(says(sentence, "rank 0 cannot wait for the others at localhost:" + std::to_string(port)));
  EXPECT_EQ(sentence.find('\n'), std::string::npos);
  ::close(listener);
}

}  // namespace
}  // namespace sadam::testing
