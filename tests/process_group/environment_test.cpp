// What each launcher's variables come to.
#include <gtest/gtest.h>
#include <sadam/process_group.h>

#include <cstdlib>
#include <map>
#include <string>

#include "support/refusal.h"

namespace sadam::testing {
namespace {

/// What a process is told whose environment has these variables, and no other that counts.
std::optional<RankOptions> told(const std::map<std::string, std::string>& variables) {
  for (const char* const name : {"RANK",
                                 "WORLD_SIZE",
                                 "LOCAL_RANK",
                                 "LOCAL_WORLD_SIZE",
                                 "MASTER_ADDR",
                                 "MASTER_PORT",
                                 "TORCHELASTIC_USE_AGENT_STORE",
                                 "TORCHELASTIC_RESTART_COUNT",
                                 "TORCHELASTIC_RUN_ID",
                                 "OMPI_COMM_WORLD_RANK",
                                 "OMPI_COMM_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_LOCAL_RANK",
                                 "OMPI_COMM_WORLD_LOCAL_SIZE",
                                 "PMI_RANK",
                                 "PMI_SIZE",
                                 "MPI_LOCALRANKID",
                                 "MPI_LOCALNRANKS",
                                 "SLURM_PROCID",
                                 "SLURM_STEP_NUM_TASKS",
                                 "SLURM_NTASKS",
                                 "SLURM_LOCALID",
                                 "SLURM_STEP_NODELIST",
                                 "SLURM_JOB_NODELIST",
                                 "SLURM_JOB_ID",
                                 "SADAM_RANK_TIMEOUT"})
    ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const auto options = RankOptions::from_environment();
  for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
  return options;
}

using Variables = std::map<std::string, std::string>;

const Variables kTorchrun = {{"RANK", "3"},         {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},   {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "n7"}, {"MASTER_PORT", "1234"}};

TEST(RanksFromTheEnvironment, WithoutALauncherThereAreNone) {
  EXPECT_FALSE(told({}));
  EXPECT_FALSE(told({{"MASTER_ADDR", "n7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));
}

TEST(RanksFromTheEnvironment, TorchrunSaysAll) {
  const auto options = told(kTorchrun).value();
  EXPECT_EQ(options.rank(), 3);
  EXPECT_EQ(options.size(), 4);
  EXPECT_EQ(options.local_rank(), 1);
  EXPECT_EQ(options.local_size(), 2);
  EXPECT_EQ(options.host(), "n7");
  EXPECT_EQ(options.port(), 1234);
  EXPECT_FALSE(options.store_is_there());
  EXPECT_EQ(options.prefix(), "");
}

TEST(RanksFromTheEnvironment, TorchrunsOwnStoreIsSharedByItsAttempts) {
  auto variables = kTorchrun;
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RUN_ID"] = "job";
  variables["TORCHELASTIC_RESTART_COUNT"] = "0";
  const auto first = told(variables).value();
  variables["TORCHELASTIC_RESTART_COUNT"] = "1";
  const auto second = told(variables).value();
  EXPECT_TRUE(first.store_is_there());
  EXPECT_NE(first.prefix(), "");
  EXPECT_NE(first.prefix(), second.prefix());
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_FALSE(told(variables).value().store_is_there());
}

TEST(RanksFromTheEnvironment, OpenMpiOnOneMachine) {
  const auto options = told({{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})
                           .value();
  EXPECT_EQ(options.rank(), 1);
  EXPECT_EQ(options.size(), 2);
  EXPECT_EQ(options.local_size(), 2);
  EXPECT_EQ(options.host(), "localhost");
  EXPECT_EQ(options.port(), 29500);
}

TEST(RanksFromTheEnvironment, MpichAcrossMachinesNeedsToKnowWhereRankZeroIs) {
  Variables variables = {
      {"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}};
  EXPECT_TRUE(says(refusal([&] { told(variables); }), "set MASTER_ADDR"));
  variables["MASTER_ADDR"] = "n1";
  const auto options = told(variables).value();
  EXPECT_EQ(options.rank(), 2);
  EXPECT_EQ(options.size(), 4);
  EXPECT_EQ(options.local_rank(), 0);
  EXPECT_EQ(options.host(), "n1");
}

TEST(RanksFromTheEnvironment, SlurmSaysItInAListOfNodes) {
  Variables variables = {{"SLURM_PROCID", "5"},
                         {"SLURM_STEP_NUM_TASKS", "8"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_JOB_NODELIST", "node[003-006,009],other"},
                         {"SLURM_JOB_ID", "77"}};
  const auto options = told(variables).value();
  EXPECT_EQ(options.rank(), 5);
  EXPECT_EQ(options.size(), 8);
  EXPECT_EQ(options.local_rank(), 1);
  EXPECT_EQ(options.host(), "node003");
  EXPECT_EQ(options.local_size(), 1);
  variables["SLURM_STEP_ID"] = "1";
  EXPECT_NE(told(variables).value().port(), options.port());
  variables["SLURM_STEP_TASKS_PER_NODE"] = "3(x2),2";
  for (const auto& [node, tasks] : std::map<std::string, int>{{"0", 3}, {"1", 3}, {"2", 2}}) {
    variables["SLURM_NODEID"] = node;
    EXPECT_EQ(told(variables).value().local_size(), tasks) << node;
  }
  variables["SLURM_JOB_ID"] = "79";
  EXPECT_NE(told(variables).value().port(), options.port());
  const std::map<std::string, std::string> firsts = {{"gpu1,gpu2", "gpu1"},
                                                     {"alone", "alone"},
                                                     {"n[1,3]-ib,x", "n1-ib"},
                                                     {"rack[0-1]node[7-9]", "rack0node7"}};
  for (const auto& [list, first] : firsts) {
    variables["SLURM_STEP_NODELIST"] = list;
    EXPECT_EQ(told(variables).value().host(), first) << list;
  }
  variables["MASTER_ADDR"] = "chosen";
  EXPECT_EQ(told(variables).value().host(), "chosen");
}

TEST(RanksFromTheEnvironment, TheNearestLauncherCounts) {
  auto variables = kTorchrun;
  variables["SLURM_PROCID"] = "0";
  variables["SLURM_STEP_NUM_TASKS"] = "2";
  EXPECT_EQ(told(variables).value().rank(), 3);
  // srun speaks MPICH's language too.
  const Variables srun = {{"SLURM_PROCID", "1"},
                          {"SLURM_STEP_NUM_TASKS", "4"},
                          {"PMI_RANK", "1"},
                          {"PMI_SIZE", "4"},
                          {"SLURM_JOB_NODELIST", "a,b"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_STEP_TASKS_PER_NODE", "3,1"}};
  EXPECT_EQ(told(srun).value().host(), "a");
}

TEST(RanksFromTheEnvironment, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(refusal([] {
              told({{"RANK", "one"}, {"WORLD_SIZE", "2"}});
            }),
            "RANK is 'one' and must be a whole number, at least 0: correct it, or unset it.");
  EXPECT_TRUE(says(refusal([] { told({{"RANK", "2"}, {"WORLD_SIZE", "2"}}); }), "ranks go from 0"));
  EXPECT_TRUE(says(refusal([] { told({{"RANK", "0"}, {"WORLD_SIZE", "0"}}); }), "WORLD_SIZE is '0'"));
  EXPECT_TRUE(says(refusal([] { told({{"RANK", "0"}}); }), "RANK is set and WORLD_SIZE is not"));
  EXPECT_TRUE(says(refusal([] { told({{"WORLD_SIZE", "2"}}); }), "WORLD_SIZE is set and RANK is not"));
  EXPECT_TRUE(says(refusal([] {
                     told({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"SADAM_RANK_TIMEOUT", "0"}});
                   }),
                   "SADAM_RANK_TIMEOUT is '0'"));
}

TEST(RanksFromTheEnvironment, ATimeLimitMayBeGiven) {
  auto variables = kTorchrun;
  variables["SADAM_RANK_TIMEOUT"] = "7";
  EXPECT_EQ(told(variables).value().timeout(), std::chrono::seconds(7));
}

}  // namespace
}  // namespace sadam::testing
