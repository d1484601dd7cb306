// How runs are named, and what the program says of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

// All of them look at one finished run.
class RunArgumentTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const auto ended = run_program(train("first"));
    ASSERT_EQ(ended.status, 0) << ended.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static Arguments train(const std::string& name, const Arguments& more = {}) {
    Arguments arguments = {"train", "--root", path("runs"), "--name=" + name};
    const auto fields = small_run();
    arguments.insert(arguments.end(), fields.begin(), fields.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(RunArgumentTest, ANameBelowTheRootIsAsGoodAsAFolder) {
  const auto by_folder = run_program({"eval", path("runs/first")});
  const auto by_name = run_program({"eval", "first", "--root", path("runs")});
  EXPECT_EQ(by_folder.status, 0) << by_folder.err;
  EXPECT_EQ(by_name.status, 0) << by_name.err;
  EXPECT_EQ(by_name.out, by_folder.out);
  const auto exported = run_program({"export", "first", path("w.safetensors"), "--root", path("runs")});
  EXPECT_EQ(exported.status, 0) << exported.err;
  const auto resumed = run_program({"train", "--resume", "first", "--root", path("runs")});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(resumed.out, path("runs/first") + "\n");

  const Arguments elsewhere = {"--root", path("elsewhere")};
  for (Arguments arguments :
       {Arguments{"eval", "first"}, {"export", "first", path("x")}, {"train", "--resume", "first"}}) {
    arguments.insert(arguments.end(), elsewhere.begin(), elsewhere.end());
    expect_refused(run_program(arguments), 2, {"there is no run 'first'"});
  }
  expect_refused(run_program({"eval", "frist", "--root", path("runs")}), 2, {"did you mean 'first'?"});
}

TEST_F(RunArgumentTest, AFileDoesNotHideTheRunOfItsName) {
  // Read from the folder in which the program is started, which is that of the tests.
  const std::string name = "run_argument_test_first";
  std::filesystem::create_directories(path("other"));
  std::filesystem::copy(path("runs/first"), path("other/" + name), std::filesystem::copy_options::recursive);
  std::ofstream(name) << "of no interest";
  const auto ended = run_program({"eval", name, "--root", path("other")});
  EXPECT_EQ(ended.status, 0) << ended.err;
  expect_refused(run_program({"eval", name, "--root", path("runs")}), 2, {"give it with --weights"});
  std::filesystem::remove(name);
}

TEST_F(RunArgumentTest, AFileOfARunIsAnsweredWithItsFolder) {
  const auto file = path("runs/first/checkpoint.pt");
  expect_refused(run_program({"eval", file}), 2,
                 {file + " is a file of the run " + path("runs/first") + ": give that folder."});
  expect_refused(run_program({"eval", "--weights", file}), 2, {"'sadam eval " + path("runs/first") + "'"});
}

TEST_F(RunArgumentTest, ARunStaysBelowItsRoot) {
  for (const std::string name : {"..", "../a", ".hidden", "-x", "a\033b"})
    expect_refused(run_program(train(name)), 2, {"--name '"});
  for (const auto& entry : std::filesystem::directory_iterator(path("runs")))
    EXPECT_TRUE(entry.path().filename() == "first" || entry.path().filename() == "diverged") << entry.path();
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(RunArgumentTest, AFinishedRunSaysThatItIsAndWhatToDo) {
  const auto ended = run_program({"train", "--resume", path("runs/first"), "--quiet"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.err.find(" is finished: evaluate it with 'sadam eval "), std::string::npos) << ended.err;
}

TEST_F(RunArgumentTest, EvaluationSaysHowFarTheCheckpointHadCome) {
  EXPECT_NE(run_program({"eval", path("runs/first")}).out.find("after step 12 (epoch 2 of 2 done)"),
            std::string::npos);
  const auto json = nlohmann::json::parse(run_program({"eval", path("runs/first"), "--json"}).out);
  EXPECT_EQ(json.at("step"), 12);
  EXPECT_EQ(json.at("epoch"), 2);
}

TEST_F(RunArgumentTest, EvaluationShowsTopFiveAndEveryClass) {
  const auto shown = run_program({"eval", path("runs/first"), "--per-class"}).out;
  EXPECT_NE(shown.find(" %, top-5 "), std::string::npos) << shown;
  EXPECT_NE(shown.find("class  images  accuracy %\n"), std::string::npos) << shown;
  const auto json =
      nlohmann::json::parse(run_program({"eval", path("runs/first"), "--per-class", "--json"}).out);
  ASSERT_EQ(json.at("classes").size(), 10U);
  double right = 0;
  for (const auto& each : json.at("classes"))
    right += each.at("accuracy").get<double>() * each.at("images").get<double>();
  EXPECT_NEAR(right / json.at("images").get<double>(), json.at("accuracy").get<double>(), 1e-6);
  EXPECT_GE(json.at("top5_accuracy"), json.at("accuracy"));
}

TEST_F(RunArgumentTest, TheBestEpochIsEvaluatedAndExported) {
  const auto best = nlohmann::json::parse(run_program({"eval", path("runs/first"), "--best", "--json"}).out);
  const auto list = nlohmann::json::parse(
      run_program({"runs", "--root", path("runs"), "--where", "name=first", "--json"}).out);
  EXPECT_EQ(best.at("epoch"), list.at(0).at("best_epoch"));
  EXPECT_EQ(best.at("accuracy"), list.at(0).at("best"));
  EXPECT_EQ(run_program({"export", path("runs/first"), path("best.safetensors"), "--best"}).status, 0);
  EXPECT_EQ(run_program({"eval", "--weights", path("best.safetensors"), "--best"}).status, 2);
}

TEST_F(RunArgumentTest, ARunIsExtendedOnTheCommandLineAndNothingElseOfItIsChanged) {
  const auto resume = [&](const Arguments& more) {
    Arguments arguments = {"train", "--resume", path("runs/longer"), "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  };
  ASSERT_EQ(run_program(train("longer", {"--set", "train.epochs=1"})).status, 0);
  for (const Arguments& more : {Arguments{"--set", "seed=1"},
                                {"--set", "train.epochs=2", "--set", "seed=1"},
                                {"--device", "cpu"},
                                {"--name", "other"},
                                {"recipe.toml"}})
    expect_refused(resume(more), 2, {"every --set but those of train.epochs"});
  expect_refused(resume({"--set", "train.epochs=0"}), 2, {"train.epochs is 0"});
  const auto extended = resume({"--set", "train.epochs=2"});
  EXPECT_EQ(extended.status, 0) << extended.err;
  const auto weights = [&](const std::string& name) {
    const auto file = path(name + ".extended");
    EXPECT_EQ(run_program({"export", path("runs/" + name), file}).status, 0);
    return text_of_file(file);
  };
  EXPECT_EQ(weights("longer"), weights("first"));
  expect_refused(resume({"--set", "train.epochs=1"}), 2, {"2 epochs are begun"});
  std::filesystem::rename(path("runs/longer"), path("longer"));
}

TEST_F(RunArgumentTest, ARunThatCannotBeResumedIsNotCalledStopped) {
  const auto copy = path("runs-stuck/run");
  std::filesystem::create_directories(copy);
  for (const std::string file : {"run.toml", "events.jsonl"})
    std::filesystem::copy(path("runs/first/" + file), copy + "/" + file);
  auto text = text_of_file(copy + "/run.toml");
  write_text(copy + "/run.toml", text.replace(text.find("\nepochs = 2"), 11, "\nepochs = 4"));
  const auto listed = run_program({"runs", "--root", path("runs-stuck")});
  EXPECT_EQ(listed.status, 0);
  EXPECT_NE(listed.out.find("run  stuck"), std::string::npos) << listed.out;
  EXPECT_NE(listed.err.find("checkpoint.pt is gone"), std::string::npos) << listed.err;
  EXPECT_EQ(run_program({"train", "--resume", copy}).status, 1);
}

TEST_F(RunArgumentTest, EvaluationTakesARunOrWeightsAndNotBoth) {
  expect_refused(run_program({"eval", path("a"), "--weights", path("b")}), 2, {"not both"});
  expect_refused(run_program({"eval"}), 2, {"eval needs a run"});
}

TEST_F(RunArgumentTest, ADivergedRunIsNoSilentSuccess) {
  const auto ended = run_program(train("diverged", {"--set", "optimizer.lr=1e30"}));
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.err.find("steps were skipped"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("Training diverged: "), std::string::npos) << ended.err;
  const auto evaluated = run_program({"eval", path("runs/diverged")});
  EXPECT_EQ(evaluated.status, 1);
  EXPECT_NE(evaluated.err.find("is not finite"), std::string::npos) << evaluated.err;
}

TEST_F(RunArgumentTest, AnotherModelThanTheRunHadIsASentence) {
  expect_refused(run_program({"eval", path("runs/first"), "--set", "model.name=resnet18"}), 1,
                 {"the checkpoint is of another network"});
}

TEST_F(RunArgumentTest, AFileInPlaceOfTheTensorBoardFolderIsASentence) {
  std::filesystem::create_directories(path("odd"));
  std::filesystem::copy(path("runs/first/run.toml"), path("odd/run.toml"));
  std::ofstream(path("odd/tensorboard")) << "precious";
  expect_refused(run_program({"train", "--resume", path("odd")}), 1, {"tensorboard is a file"});
}

TEST(DataCheck, OfAFolderOfYourOwnDoesNotAdviseToFetchIt) {
  const TemporaryFolder folder;
  for (int i = 0; i < 30; ++i)
    for (const auto* part : {"train", "test"})
      std::filesystem::create_directories(folder / "own" / part / std::to_string(i));
  const auto ended = run_program({"data", "check", "folder:" + (folder / "own").string()});
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.err.find("fetch"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("put the images right"), std::string::npos) << ended.err;
  // Its name once, and not one line for each of sixty empty classes.
  EXPECT_EQ(ended.out.find("folder:"), ended.out.rfind("folder:")) << ended.out;
  EXPECT_LE(std::count(ended.out.begin(), ended.out.end(), '\n'), 22) << ended.out;
  EXPECT_NE(ended.out.find("more\n"), std::string::npos) << ended.out;
}

TEST(DataCheck, SaysTheNameOfADataSetOnce) {
  const TemporaryFolder folder;
  for (const char* name :
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"})
    folder.write("cifar-10-batches-bin/" + std::string(name) + ".bin", std::vector<std::byte>(3073));
  const auto ended = run_program({"data", "check", "cifar10", "--root", folder.path().string()});
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(ended.out.starts_with("cifar10: 5 training images")) << ended.out;
}

}  // namespace
}  // namespace sadam::cli
