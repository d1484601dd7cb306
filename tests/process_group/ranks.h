// Ranks for a test: this program, started again for each of them with this test alone.
#pragma once

#include <gtest/gtest.h>
#include <sadam/sadam.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/free_port.h"
#include "support/temporary_folder.h"

namespace sadam::testing {

using Tensors = std::vector<torch::Tensor>;
using Group = std::shared_ptr<ProcessGroup>;

/// What became of a rank.
struct Ended {
  Tensors result;
  std::string sentence;  ///< of the `sadam::Error` that ended it
  int status = 0;        ///< 0, 1 after such an error, −signal
};

using MakeGroup = std::function<Group(const RankOptions&)>;
inline Group over_gloo(const RankOptions& options) { return make_gloo_group(options); }

/// Runs `body` on this many ranks, each a process of its own, and returns what each has returned. A test that
/// calls this for several sizes does so before it looks at any result, and for each size once.
inline std::vector<Ended> on_ranks(int size, const std::function<Tensors(const Group&)>& body,
                                   std::chrono::milliseconds timeout = std::chrono::seconds(60),
                                   const std::vector<int>& absent = {},
                                   const MakeGroup& make_group = over_gloo) {
  if (const char* const rank = std::getenv("SADAM_TEST_RANK")) {
    if (std::atoi(std::getenv("SADAM_TEST_SIZE")) != size) return std::vector<Ended>(size);
    torch::set_num_threads(1);
    const std::filesystem::path folder = std::getenv("SADAM_TEST_FOLDER");
    int status = 0;
    // All begin together, or a short time limit would be over before a busy machine has started them.
    write_text(folder / ("here" + std::string(rank)), "");
    for (int r = 0; r < size; ++r)
      while (std::find(absent.begin(), absent.end(), r) == absent.end() &&
             !std::filesystem::exists(folder / ("here" + std::to_string(r))))
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    try {
      auto options = RankOptions().host("127.0.0.1").port(std::atoi(std::getenv("SADAM_TEST_PORT")));
      torch::save(body(make_group(options.rank(std::atoi(rank)).size(size).timeout(timeout))),
                  (folder / (std::string(rank) + ".pt")).string());
    } catch (const Error& error) {
      write_text(folder / (std::string(rank) + ".txt"), error.what());
      status = 1;
    }
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 2 : status);
  }
  const TemporaryFolder folder;
  const auto port = std::to_string(free_port());
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  const auto filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < size; ++rank) {
    const bool is_absent = std::find(absent.begin(), absent.end(), rank) != absent.end();
    processes.push_back(is_absent ? -1 : ::fork());
    if (processes.back() != 0) continue;
    ::setenv("SADAM_TEST_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("SADAM_TEST_SIZE", std::to_string(size).c_str(), 1);
    ::setenv("SADAM_TEST_PORT", port.c_str(), 1);
    ::setenv("SADAM_TEST_FOLDER", folder.path().c_str(), 1);
    ::setenv("OMP_NUM_THREADS", "1", 1);
    ::setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);  // or two may not share a GPU
    ::execl("/proc/self/exe", "rank", filter.c_str(), "--gtest_brief=1", nullptr);
    ::_exit(98);
  }
  std::vector<Ended> ended(static_cast<std::size_t>(size));
  // One that has stopped is let go when all others are over.
  for (const bool stopped : {false, true})
    for (int rank = 0; rank < size; ++rank) {
      auto& process = processes[static_cast<std::size_t>(rank)];
      auto& end = ended[static_cast<std::size_t>(rank)];
      if (process <= 0) continue;
      if (stopped) ::kill(process, SIGKILL);
      int state = 0;
      ::waitpid(process, &state, WUNTRACED);
      if (WIFSTOPPED(state)) continue;
      process = -1;
      end.status = WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
      const auto file = folder.path() / std::to_string(rank);
      if (end.status == 0) torch::load(end.result, file.string() + ".pt");
      if (end.status == 1) end.sentence = text_of_file(file.string() + ".txt");
      EXPECT_NE(end.status, 2) << "rank " << rank << " has failed (see above)";
    }
  return ended;
}

/// The same where every rank must come to its end.
inline std::vector<Tensors> results_of(int size, const std::function<Tensors(const Group&)>& body,
                                       const MakeGroup& make_group = over_gloo) {
  std::vector<Tensors> results;
  for (const auto& ended : on_ranks(size, body, std::chrono::seconds(60), {}, make_group)) {
    EXPECT_EQ(ended.status, 0) << ended.sentence;
    results.push_back(ended.result);
  }
  return results;
}

/// The rows of a batch that a rank has, where these are the ranks' numbers of examples.
inline torch::Tensor part_of(const torch::Tensor& batch, const std::vector<std::int64_t>& parts, int rank) {
  return batch.split_with_sizes(parts)[static_cast<std::size_t>(rank)];
}

}  // namespace sadam::testing
