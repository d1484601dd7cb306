// Grids of `sadam train`, and several runs at once.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "cli/program.h"
#include "support/temporary_folder.h"
#include "train/record/events.h"
#include "train/record/run_folder.h"

namespace sadam::cli {
namespace {

namespace fs = std::filesystem;

class Sweep : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  Arguments train(const Arguments& more, int epochs = 1) const {
    Arguments arguments = {"train", "--root", path("runs")};
    for (const auto* field : {"data.train_images=96", "data.test_images=20", "train.batch=16",
                              "train.threads=1", "train.checkpoint_every=1"})
      arguments.insert(arguments.end(), {"--set", field});
    arguments.insert(arguments.end(), {"--set", "train.epochs=" + std::to_string(epochs)});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  train::EventFile events(const std::string& run) const {
    return train::read_events(train::RunPaths{path("runs/" + run)}.events());
  }
  bool is_begun(const std::string& run) const { return fs::exists(path("runs/" + run + "/checkpoint.pt")); }

  TemporaryFolder folder_;
};

TEST_F(Sweep, UnnamedRunsThatStartSideBySideHaveNamesOfTheirOwn) {
  const auto command = train({"--set", "optimizer.lr=3e-4", "--quiet"});
  Background first(command);
  Background second(command);
  const auto stem =
      path("runs/synthetic10-qatnet-sadam-train_images96-test_images20-epochs1-batch16-lr3e-4-42");
  std::set<std::string> names;
  for (auto* each : {&first, &second}) {
    const auto ended = each->wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
    names.insert(ended.out);
  }
  EXPECT_EQ(names, (std::set<std::string>{stem + "\n", stem + "-2\n"}));
}

TEST_F(Sweep, AGridIsTrainedOnceAndCanGrow) {
  const auto first = run_program(train({"--set", "seed=1-2", "--name", "g"}));
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, path("runs/g") + "\n");
  EXPECT_TRUE(says(first.err, "2 runs, 0 of them done.\nseed1: best "));
  EXPECT_TRUE(says(first.err, "; 1 of 2 done, ETA "));
  EXPECT_TRUE(says(first.err, "; 2 of 2 done\n"));
  const auto second = run_program(train({"--set", "seed=1-3", "--name", "g"}));
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_TRUE(says(second.err, "3 runs, 2 of them done.\nseed3: best "));
  EXPECT_TRUE(says(second.err, "; 3 of 3 done\n"));
  EXPECT_EQ(run_program(train({"--set", "seed=1-3", "--name", "g", "--quiet"})).err, "");
  const auto other = run_program(train({"--set", "seed=1-3", "--name", "g", "--set", "train.clip=2"}));
  EXPECT_EQ(other.status, 2);
  EXPECT_TRUE(says(other.err, "train.clip"));
  EXPECT_TRUE(says(other.err, "choose another --name"));
  const auto resumed = run_program({"train", "--resume", "g", "--root", path("runs")});
  EXPECT_EQ(resumed.status, 2);
  EXPECT_TRUE(says(resumed.err, "holds 3 runs: give the command that made them again"));
}

TEST_F(Sweep, AGridWithoutANameIsFoundAgain) {
  const auto command = train({"--set", "optimizer.name=adamw,prox_sgd"});
  const auto first = run_program(command);
  EXPECT_TRUE(says(first.out, "-by-optimizer\n"));
  const auto second = run_program(command);
  EXPECT_EQ(second.out, first.out);
  EXPECT_TRUE(says(second.err, "2 runs, 2 of them done."));
}

TEST_F(Sweep, AllCombinationsAreCheckedBeforeTheFirstIsTrained) {
  for (const Arguments& more :
       {Arguments{"--set", "data.name=synthetic10,synthetic11"},
        Arguments{"--set", "data.name=synthetic10,cifar10", "--set", "data.root=" + path("none")},
        Arguments{"--set", "optimizer.directions=sphere,step"}, Arguments{"--set", "seed=1-2000"},
        Arguments{"--set", "data.pixels=32,33"}}) {
    const auto ended = run_program(train(more));
    EXPECT_NE(ended.status, 0);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(says(ended.err, "sadam: ")) << more[1];
    EXPECT_FALSE(fs::exists(path("runs"))) << ended.err;
  }
}

TEST_F(Sweep, ARecipeMayComeThroughAPipe) {
  ASSERT_EQ(::mkfifo(path("pipe.toml").c_str(), 0600), 0);
  const auto give = [&](const std::string& sweep, const Arguments& more) {
    std::thread writer([&] { std::ofstream(path("pipe.toml")) << "[optimizer]\nname = 'adamw'\n" << sweep; });
    auto command = train(more);
    command.insert(command.begin() + 1, path("pipe.toml"));
    const auto ended = run_program(command);
    writer.join();
    return ended;
  };
  for (const char* sweep : {"", "[sweep]\nseed = [7, 8]\n"}) {
    const auto ended = give(sweep, {"--quiet"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    for (const auto& run : train::find_runs(ended.out.substr(0, ended.out.size() - 1)))
      EXPECT_TRUE(says(text_of_file(run.recipe()), "name = \"adamw\"")) << run.folder;
  }
  // Each process would have to read it.
  EXPECT_TRUE(says(give("[sweep]\nseed = [7, 8]\n", {"-j", "2"}).err, "can be read again"));
}

TEST_F(Sweep, PlanListsFoldersAndTrainsNothing) {
  const auto ended = run_program(train({"--set", "seed=1-2", "--name", "g", "--plan"}));
  EXPECT_EQ(ended.out, path("runs/g/seed1") + "\n" + path("runs/g/seed2") + "\n");
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(Sweep, OneRunHasNoJobsAndARunHoldsNoGrid) {
  EXPECT_EQ(run_program(train({"-j", "2"})).status, 2);
  ASSERT_EQ(run_program(train({"--name", "g", "--quiet"})).status, 0);
  const auto ended = run_program(train({"--name", "g", "--set", "seed=1-2"}));
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(says(ended.err, "choose another --name"));
}

TEST_F(Sweep, ARunThatFailsIsNamedAndTheOthersGoOn) {
  const auto grid = train({"--set", "seed=1-3", "--name", "g"});
  ASSERT_EQ(run_program(grid).status, 0);
  damage_checkpoints(path("runs/g/seed1"));
  fs::remove_all(path("runs/g/seed3"));
  const auto again = run_program(grid);
  EXPECT_EQ(again.status, 1);
  EXPECT_TRUE(says(again.err, "seed1"));
  EXPECT_TRUE(is_begun("g/seed3")) << again.err;
}

TEST_F(Sweep, SeveralAtOnceEndAsOneAfterTheOther) {
  const Arguments fields = {"--set", "optimizer.lr=1e-3,1e-2", "--set", "seed=1-2"};
  auto one = train(fields);
  one.insert(one.end(), {"--name", "one"});
  auto several = train(fields);
  several.insert(several.end(), {"--name", "several", "-j", "3"});
  ASSERT_EQ(run_program(one).status, 0);
  const auto ended = execute_program(several);
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, path("runs/several") + "\n");
  EXPECT_TRUE(says(ended.err, "lr0.01-seed2: best "));
  EXPECT_TRUE(says(ended.err, "; 4 of 4 done\n"));
  for (const auto& entry : fs::directory_iterator(path("runs/one"))) {
    const auto name = entry.path().filename().string();
    const auto a = events("one/" + name);
    const auto b = events("several/" + name);
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (std::size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].loss, b.steps[i].loss) << name;
    EXPECT_EQ(a.epochs.back().test_loss, b.epochs.back().test_loss);
  }
}

TEST_F(Sweep, CompareTakesTheFolderOfAGrid) {
  ASSERT_EQ(
      run_program(train({"--set", "optimizer.lr=1e-2,1e-4", "--set", "seed=1-2", "--name", "g"})).status, 0);
  const auto rows = run_program({"compare", "g", "--root", path("runs")});
  EXPECT_EQ(rows.status, 0) << rows.err;
  EXPECT_LT(rows.out.find("\nlr=1e-4  2 "), rows.out.find("\nlr=0.01  2 ")) << rows.out;
  EXPECT_TRUE(says(rows.out, "less that of 'lr=1e-4'"));
  EXPECT_TRUE(
      says(run_program({"compare", path("runs/g"), "--baseline", "lr=0.01"}).out, "less that of 'lr=0.01'"));
  EXPECT_TRUE(says(run_program({"compare", path("runs/g"), "--columns"}).out, "time per step"));
  // A run of a folder may not come a second time.
  EXPECT_TRUE(says(run_program({"compare", path("runs/g"), path("runs/g/lr1e-4-seed1")}).err, "given twice"));
  std::ofstream(path("runs/g/lr1e-4-seed1/events.jsonl")) << "rubbish\n";
  const auto without = run_program({"compare", path("runs/g")});
  EXPECT_EQ(without.status, 0);
  EXPECT_TRUE(says(without.out, "\nlr=1e-4  1 "));
  EXPECT_TRUE(says(without.err, "lr1e-4-seed1 is left out: "));
}

TEST_F(Sweep, CompareDrawsCurves) {
  ASSERT_EQ(run_program(train({"--set", "seed=1-2", "--name", "g", "--quiet"})).status, 0);
  const auto drawn = run_program({"compare", path("runs/g"), "--svg", path("g.svg"), "--json"});
  EXPECT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_TRUE(says(text_of_file(path("g.svg")), "training loss"));
  for (const Arguments& wrong : {Arguments{"--svg", path("g.png")}, Arguments{"--png", path("g.svg")},
                                 Arguments{"--svg", path("none/g.svg")}}) {
    auto command = Arguments{"compare", path("runs/g")};
    command.insert(command.end(), wrong.begin(), wrong.end());
    const auto ended = run_program(command);
    EXPECT_NE(ended.status, 0);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(says(ended.err, wrong[0]));
  }
}

TEST_F(Sweep, AWorkerThatIsKilledIsReportedAndTheOthersDoItsWork) {
  const auto command = train({"--set", "seed=1-3", "--name", "g", "-j", "2"}, 6);
  Background parent(command, Background::Start::by_exec);
  ASSERT_TRUE(comes_true([&] { return is_begun("g/seed1") && is_begun("g/seed2"); }));
  const auto workers = children_of(parent.process());
  ASSERT_EQ(workers.size(), 2U);
  ASSERT_EQ(::kill(workers.front(), SIGKILL), 0);
  const auto ended = parent.wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(says(ended.err, "was ended by signal 9"));
  const auto after = run_program(command);
  EXPECT_EQ(after.status, 0);
  EXPECT_TRUE(says(after.err, "3 runs, 3 of them done."));
}

TEST_F(Sweep, InterruptedItStopsAndSavesAllAndTheSameCommandGoesOn) {
  const auto command = train({"--set", "seed=1-3", "--name", "g", "-j", "2"}, 8);
  Background parent(command, Background::Start::by_exec);
  ASSERT_TRUE(comes_true([&] { return is_begun("g/seed1") && is_begun("g/seed2"); }));
  parent.signal(SIGINT);
  const auto stopped = parent.wait();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_TRUE(says(stopped.err, "Stopped and saved; the same command goes on."));
  const auto ended = execute_program(command);
  EXPECT_EQ(ended.status, 0) << ended.err;
  for (const auto* run : {"g/seed1", "g/seed2", "g/seed3"}) EXPECT_EQ(events(run).epochs.size(), 8U);
}

TEST_F(Sweep, WorkersSaveAndLeaveWhenTheProgramThatStartedThemIsKilled) {
  Background parent(train({"--set", "seed=1-2", "--name", "g", "-j", "2"}, 100'000),
                    Background::Start::by_exec);
  ASSERT_TRUE(comes_true([&] { return is_begun("g/seed1") && is_begun("g/seed2"); }));
  parent.signal(SIGKILL);
  parent.wait();
  for (const auto* run : {"runs/g/seed1", "runs/g/seed2"})
    EXPECT_TRUE(comes_true([&] { return !train::is_in_use(train::RunPaths{path(run)}); })) << run;
}

TEST_F(Sweep, ATableIsSharedByWorkersToo) {
  std::ofstream(path("small.toml")) << small_table();
  const Arguments command = {"reproduce", path("small.toml"), "--root", path("runs"), "-j", "2"};
  const auto ended = execute_program(command);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(says(ended.err, "c/sadam matched, seed 1: best "));
  EXPECT_TRUE(says(ended.err, "5 of 5 done"));
  EXPECT_TRUE(says(ended.out, "shuffled"));
  EXPECT_TRUE(says(run_program(command).err, "5 runs, 5 of them done."));
}

}  // namespace
}  // namespace sadam::cli
