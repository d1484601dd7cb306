#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/program.h"

namespace sadam::cli {
namespace {

// What OpenMP says of itself when it is loaded: once for each start of the program.
std::string openmp_settings() {
  setenv("OMP_DISPLAY_ENV", "verbose", 1);
  const auto ended = run_program({"train", "--help"});
  unsetenv("OMP_DISPLAY_ENV");
  EXPECT_EQ(ended.status, 0);
  return ended.err;
}

bool spins_shortly(const std::string& settings) {
  return settings.find("GOMP_SPINCOUNT = '5000'") != std::string::npos;
}

TEST(PoliteThreads, WaitWithoutHoldingACore) {
  const auto settings = openmp_settings();
  if (settings.find("GOMP_SPINCOUNT") == std::string::npos) GTEST_SKIP() << "this OpenMP is not GNU's";
  EXPECT_TRUE(spins_shortly(settings)) << settings;
}

TEST(PoliteThreads, LeaveTheUsersChoiceAlone) {
  setenv("OMP_WAIT_POLICY", "active", 1);
  const auto settings = openmp_settings();
  unsetenv("OMP_WAIT_POLICY");
  EXPECT_FALSE(spins_shortly(settings)) << settings;
}

}  // namespace
}  // namespace sadam::cli
