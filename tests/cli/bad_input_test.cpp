// What goes wrong is said in one sentence; 2 for what was asked, 1 for what failed; nothing is overwritten.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "cli/program.h"
#include "support/fake_runs.h"
#include "support/temporary_folder.h"
#include "train/record/run_folder.h"

namespace sadam::cli {
namespace {

class BadInput : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  Arguments train(const Arguments& more) const {
    Arguments arguments = {"train", "--root", path("runs"), "--name", "run"};
    const auto fields = small_run();
    arguments.insert(arguments.end(), fields.begin(), fields.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // A finished run, runs/run: a copy of the one that is trained for all of these tests.
  void make_run() const {
    static const TemporaryFolder trained;
    const auto run = trained.path() / "run";
    if (!std::filesystem::exists(run)) {
      auto arguments = train({});
      arguments[2] = trained.path().string();
      ASSERT_EQ(run_program(arguments).status, 0);
    }
    std::filesystem::create_directories(path("runs"));
    std::filesystem::copy(run, path("runs/run"), std::filesystem::copy_options::recursive);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  TemporaryFolder folder_;
};

void expect_refused(const Arguments& arguments, int status, const Arguments& parts) {
  expect_refused(run_program(arguments), status, parts);
}

TEST_F(BadInput, UnknownDataSet) {
  expect_refused(train({"--set", "data.name=cifer100"}), 2, {"cifer100", "cifar100"});
  EXPECT_FALSE(std::filesystem::exists(path("runs/run"))) << "a refused run leaves no folder behind";
}

TEST_F(BadInput, MissingFolderOfADataSet) {
  expect_refused(train({"--set", "data.name=cifar100", "--set", "data.train_images=0", "--set",
                        "data.test_images=0", "--set", "data.root=" + path("nowhere")}),
                 1, {path("nowhere"), "sadam data fetch cifar100"});
}

// tests/train/recipe/bad_recipe_test.cpp has all that can be wrong.
TEST_F(BadInput, ABadRecipe) {
  expect_refused(train({"--set", "optimizer.probs=8"}), 2, {"has no field 'probs'", "probes"});
  expect_refused({"train", write("recipe.toml", "model = [")}, 2, {"recipe.toml:1"});
}

TEST_F(BadInput, WeightsThatAreNotThereOrNoWeights) {
  expect_refused(train({"--set", "model.weights=" + path("none.safetensors")}), 1, {"none.safetensors"});
  EXPECT_FALSE(std::filesystem::exists(path("runs/run")));
  expect_refused(train({"--set", "model.weights=" + write("text.pth", "not weights")}), 1, {"text.pth"});
}

TEST_F(BadInput, WeightsOfAnotherModelOrForAnotherNumberOfClasses) {
  make_run();
  const auto weights = path("ten.safetensors");
  ASSERT_EQ(run_program({"export", path("runs/run"), weights}).status, 0);
  expect_refused({"eval", "--weights", weights, "--ignore-recipe", "--set", "model.name=resnet18", "--set",
                  "data.train_images=20", "--set", "data.test_images=20"},
                 1, {weights, "layer1.0.conv1.weight"});
  expect_refused({"eval", "--weights", weights, "--ignore-recipe", "--set", "data.name=synthetic100", "--set",
                  "data.train_images=100", "--set", "data.test_images=100"},
                 1, {weights, "fc.weight"});
  EXPECT_EQ(run_program({"eval", "--weights", weights, "--set", "data.test_images=20"}).status, 0);
}

TEST_F(BadInput, AFolderThatCannotBeMadeOrHoldsSomethingElse) {
  write("file", "");
  expect_refused({"train", "--root", path("file"), "--name", "run"}, 1, {path("file"), "correct --root"});
  expect_refused({"runs", "--root", path("file")}, 1, {path("file"), "correct --root"});
  std::filesystem::create_directories(path("runs/run"));
  write("runs/run/events.jsonl", "precious");
  expect_refused(train({}), 1, {path("runs/run"), "events.jsonl"});
  EXPECT_EQ(std::filesystem::file_size(path("runs/run/events.jsonl")), 8U);
}

TEST_F(BadInput, AControlOfWhatIsNoFinishedRunOfSAdam) {
  sadam::testing::write_run({path("runs/run")}, sadam::testing::recipe_with({"optimizer.name=adamw"}), {0.5});
  expect_refused({"train", "--root", path("runs"), "--name", "control", "--set", "optimizer.name=adamw",
                  "--set", "control.kind=matched", "--set", "control.run=" + path("runs/run")},
                 2, {path("runs/run"), "adamw"});
}

TEST_F(BadInput, ARunThatIsThereAlready) {
  make_run();
  const auto before = std::filesystem::last_write_time(path("runs/run/events.jsonl"));
  expect_refused(train({}), 1, {path("runs/run"), "--resume", "another --name"});
  EXPECT_EQ(std::filesystem::last_write_time(path("runs/run/events.jsonl")), before);
}

TEST_F(BadInput, AnEmptyNameIsNoWishForTheDefault) {
  const std::string no_data = "data.name=none";  // so that a refusal that fails to come is no long run
  expect_refused({"train", "--resume", "", "--set", no_data}, 2, {"--resume: must not be empty"});
  expect_refused({"train", "--name", "", "--set", no_data}, 2, {"--name: must not be empty"});
  expect_refused({"train", "", "--set", no_data}, 2, {"recipe: must not be empty"});
  expect_refused({"eval", "run", "--weights", ""}, 2, {"--weights: must not be empty"});
  expect_refused({"eval", "", "--weights", "file"}, 2, {"run: must not be empty"});
  expect_refused({"export", "run", ""}, 2, {"file: must not be empty"});
}

TEST_F(BadInput, AnEmptyRootIsAnsweredWithTheFolderThatLeavingItOutMeans) {
  for (const Arguments& command : std::vector<Arguments>{{"runs"},
                                                         {"train", "--resume", "a"},
                                                         {"compare", "a", "b"},
                                                         {"eval", "a"},
                                                         {"reproduce", "table1", "--plan"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--root", ""});
    expect_refused(arguments, 2, {"--root: must not be empty", "leave it out for 'runs'", command[0]});
  }
  expect_refused({"data", "list", "--root", ""}, 2, {"--root: must not be empty", "leave it out for 'data'"});
}

TEST_F(BadInput, ResumingWhatIsNotThere) {
  expect_refused({"train", "--resume", path("none")}, 2, {path("none")});
}

TEST_F(BadInput, TwoProcessesOnOneRunFolder) {
  Background first(train({"--set", "train.epochs=1000"}));
  while (!std::filesystem::exists(path("runs/run/checkpoint.pt")) && !first.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  expect_refused({"train", "--resume", path("runs/run")}, 1, {path("runs/run"), "another process"});
  first.signal(SIGKILL);
  first.wait();
}

TEST_F(BadInput, AnEventsFileCutInTheMiddleOfALine) {
  make_run();
  const auto events = path("runs/run/events.jsonl");
  std::filesystem::resize_file(events, std::filesystem::file_size(events) - 10);
  const auto listed = run_program({"runs", "--root", path("runs")});
  EXPECT_NE(listed.out.find("run"), std::string::npos);
  EXPECT_NE(listed.err.find("events.jsonl"), std::string::npos) << listed.err;
  EXPECT_EQ(listed.err.find("--resume"), std::string::npos) << listed.err;
  // The checkpoint knows of more than is there.
  expect_refused({"train", "--resume", path("runs/run")}, 1, {"events.jsonl"});
}

// Whatever is advised must be possible.
TEST_F(BadInput, ARunWhoseCheckpointIsGoneIsNotToBeTrainedForAnEpoch) {
  make_run();
  std::filesystem::remove(path("runs/run/checkpoint.pt"));
  std::filesystem::remove(path("runs/run/checkpoint.previous.pt"));
  const Arguments words = {"checkpoint.pt is gone", "sadam train " + path("runs/run/run.toml")};
  expect_refused({"eval", path("runs/run")}, 1, words);
  expect_refused({"export", path("runs/run"), path("w")}, 1, words);
  expect_refused({"train", "--resume", path("runs/run")}, 1, words);
  const auto anew =
      run_program({"train", path("runs/run/run.toml"), "--root", path("runs"), "--name", "anew", "--quiet"});
  EXPECT_EQ(anew.status, 0) << anew.err;
}

TEST_F(BadInput, ARunThatAnotherProcessHasNotYetSavedIsWaitedFor) {
  make_run();
  std::filesystem::remove(path("runs/run/checkpoint.pt"));
  std::filesystem::remove(path("runs/run/checkpoint.previous.pt"));
  std::filesystem::remove(path("runs/run/events.jsonl"));
  {
    const auto held = sadam::train::RunFolder::open(path("runs/run"));
    expect_refused({"eval", path("runs/run")}, 1, {"no checkpoint yet", "wait until the process"});
  }
  expect_refused({"eval", path("runs/run")}, 1,
                 {"no checkpoint yet", "sadam train --resume " + path("runs/run")});
}

TEST_F(BadInput, WhatIsLeftOfARunIsNamedWithTheWayOut) {
  make_run();
  write("runs/run/checkpoint.pt", "garbage");
  std::filesystem::remove(path("runs/run/checkpoint.previous.pt"));
  expect_refused({"eval", path("runs/run")}, 1,
                 {"checkpoint.pt", "put the right file back, or start the run anew"});
  std::filesystem::remove(path("runs/run/run.toml"));
  const Arguments words = {path("runs/run"), "no run.toml", "put it back"};
  expect_refused({"eval", "run", "--root", path("runs")}, 1, words);
  expect_refused({"train", "--resume", path("runs/run")}, 1, words);
  const auto listed = run_program({"runs", "--root", path("runs")});
  EXPECT_EQ(listed.status, 1);
  EXPECT_NE(listed.out.find("damaged"), std::string::npos) << listed.out;
  EXPECT_NE(listed.err.find("no run.toml"), std::string::npos) << listed.err;
}

// Every write to /dev/full fails as on a full disk.
TEST_F(BadInput, AFullDiskLosesNoEarlierCheckpoint) {
  Background first(train({"--set", "train.epochs=1000"}));
  const auto run = path("runs/run");
  while (!std::filesystem::exists(run + "/checkpoint.pt") && !first.has_ended())
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  first.signal(SIGKILL);
  first.wait();
  const auto checkpoint = text_of_file(run + "/checkpoint.pt");
  std::filesystem::remove(run + "/checkpoint.pt.tmp");  // if it was killed while it saved
  std::filesystem::create_symlink("/dev/full", run + "/checkpoint.pt.tmp");
  expect_refused({"train", "--quiet", "--resume", run}, 1, {"checkpoint.pt"});
  EXPECT_EQ(text_of_file(run + "/checkpoint.pt"), checkpoint);

  std::filesystem::create_directories(path("runs/full/tensorboard"));
  std::filesystem::copy(run + "/run.toml", path("runs/full/run.toml"));
  std::filesystem::create_symlink("/dev/full", path("runs/full/events.jsonl"));
  expect_refused({"train", "--quiet", "--resume", path("runs/full")}, 1, {"events.jsonl"});
}

TEST_F(BadInput, ExportDoesNotOverwrite) {
  make_run();
  const auto file = write("there.safetensors", "precious");
  expect_refused({"export", path("runs/run"), file}, 1, {file, "--force"});
  EXPECT_EQ(std::filesystem::file_size(file), 8U);
  // Not with --force either, where it is no file.
  const auto pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refused({"export", path("runs/run"), pipe, "--force"}, 1, {pipe, "regular file"});
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  expect_refused({"export", path("runs/run"), path("runs"), "--force"}, 1, {"is a folder"});
  // A link stays one.
  const auto link = path("link.safetensors");
  std::filesystem::create_symlink("there.safetensors", link);
  EXPECT_EQ(run_program({"export", path("runs/run"), link, "--force"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_GT(std::filesystem::file_size(file), 8U);
}

TEST_F(BadInput, ReproduceOfWhatDoesNotExist) {
  expect_refused({"reproduce", "tabel1"}, 2, {"tabel1", "table1"});
  expect_refused({"reproduce", "table1", "--only", "cifar1000"}, 2, {"cifar1000", "cifar100"});
  expect_refused({"reproduce", "curves", "--only", "quantisation"}, 2, {"quantization"});
}

}  // namespace
}  // namespace sadam::cli
