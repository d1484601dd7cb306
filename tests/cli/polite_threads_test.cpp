#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

// ctest sets what the program would set for itself.
class PoliteThreads : public ::testing::Test {
 protected:
  PoliteThreads() {
    for (const char* name : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}) unsetenv(name);
  }
  ~PoliteThreads() override {
    unsetenv("OMP_WAIT_POLICY");
    setenv("GOMP_SPINCOUNT", "5000", 1);
  }
};

// What OpenMP says of itself when the engine loads it.
std::string openmp_settings() {
  setenv("OMP_DISPLAY_ENV", "verbose", 1);
  const auto ended = execute_program({"info"});
  unsetenv("OMP_DISPLAY_ENV");
  EXPECT_EQ(ended.status, 0);
  return ended.err;
}

bool spins_shortly(const std::string& settings) {
  return settings.find("GOMP_SPINCOUNT = '5000'") != std::string::npos;
}

TEST_F(PoliteThreads, WaitWithoutHoldingACore) {
  const auto settings = openmp_settings();
  if (settings.find("GOMP_SPINCOUNT") == std::string::npos) GTEST_SKIP() << "this OpenMP is not GNU's";
  EXPECT_TRUE(spins_shortly(settings)) << settings;
}

TEST_F(PoliteThreads, LeaveTheUsersChoiceAlone) {
  setenv("OMP_WAIT_POLICY", "active", 1);
  const auto settings = openmp_settings();
  EXPECT_FALSE(spins_shortly(settings)) << settings;
}

// It starts the engine, and `killall sadam` must still find it.
TEST_F(PoliteThreads, LeaveTheProgramItsName) {
  const TemporaryFolder folder;
  Arguments train = {"train", "--root", folder.path().string(), "--set", "train.epochs=1000"};
  for (const auto& argument : small_run()) train.push_back(argument);
  Background program(train, Background::Start::by_exec);
  bool anew = false;
  for (int i = 0; i < 400 && !anew && !program.has_ended(); ++i) {
    anew = program.in_proc("environ").find("GOMP_SPINCOUNT=5000") != std::string::npos;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(anew);
  EXPECT_EQ(program.in_proc("comm"), "sadam\n");
  program.signal(SIGKILL);
  program.wait();
}

}  // namespace
}  // namespace sadam::cli
