// A weight file is evaluated as the recipe in it says.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

// All of them look at the weights of one run that is not like the default.
class EvalWeights : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    Arguments train = {"train", "--root", folder_->path().string(), "--name", "run"};
    const auto fields = small_run();
    train.insert(train.end(), fields.begin(), fields.end());
    train.insert(train.end(), {"--set", "model.bits=4", "--set", "data.name=synthetic100", "--set",
                               "data.test_images=100"});
    const auto trained = run_program(train);
    ASSERT_EQ(trained.status, 0) << trained.err;
    const auto exported = run_program({"export", run(), weights()});
    ASSERT_EQ(exported.status, 0) << exported.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string run() { return (folder_->path() / "run").string(); }
  static std::string weights() { return (folder_->path() / "run.safetensors").string(); }

  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(EvalWeights, ExportedWeightsDoAsWellAsTheirRunWithoutBeingToldModelOrData) {
  const auto of_run = nlohmann::json::parse(run_program({"eval", run(), "--json"}).out);
  // The number of threads is no property of the weights, and decides the last digits of a sum.
  const auto ended = run_program({"eval", "--weights", weights(), "--json", "--set", "train.threads=1"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto of_weights = nlohmann::json::parse(ended.out);
  for (const auto* key : {"accuracy", "loss", "images"}) EXPECT_EQ(of_weights.at(key), of_run.at(key)) << key;
  EXPECT_EQ(ended.err, "Model and data are those of the recipe in " + weights() +
                           " (qatnet 4-bit on synthetic100), but for what --set changes.\n");
}

TEST_F(EvalWeights, OptionsWinOverTheRecipeInTheFile) {
  const auto ended = run_program({"eval", "--weights", weights(), "--set", "data.test_images=200"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("on 200 images of synthetic100"), std::string::npos) << ended.out;
  const auto other = run_program({"eval", "--weights", weights(), "--set", "data.name=synthetic10"});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("fc.weight: file 100"), std::string::npos) << other.err;
}

TEST_F(EvalWeights, TheRecipeInTheFileCanBePassedOver) {
  const auto ended = run_program({"eval", "--weights", weights(), "--ignore-recipe", "--set",
                                  "data.train_images=20", "--set", "data.test_images=20"});
  EXPECT_EQ(ended.status, 1);  // the default has ten classes
  EXPECT_NE(ended.err.find("fc.weight: file 100"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("Model and data"), std::string::npos) << ended.err;
  EXPECT_EQ(run_program({"eval", run(), "--ignore-recipe"}).status, 2);
}

TEST_F(EvalWeights, WeightsThatAreNotFiniteAreNoResult) {
  const auto damaged = (folder_->path() / "nan.safetensors").string();
  {
    std::ifstream from(weights(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(from)), {});
    for (std::size_t i = bytes.size() - 400; i < bytes.size(); ++i) bytes[i] = '\xff';  // NaN
    std::ofstream(damaged, std::ios::binary) << bytes;
  }
  const auto ended = run_program({"eval", "--weights", damaged});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find("is not finite, so the accuracy means nothing"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.out, "");
  // Nor is there anything to begin with.
  const auto root = folder_->path() / "none";
  const auto trained = run_program({"train", "--root", root.string(), "--set", "data.name=synthetic100",
                                    "--set", "data.train_images=100", "--set", "data.test_images=100",
                                    "--set", "model.weights=" + damaged});
  EXPECT_EQ(trained.status, 1);
  EXPECT_TRUE(says(trained.err, "nan.safetensors holds numbers that are not finite in fc.bias"));
  EXPECT_FALSE(std::filesystem::exists(root));
}

}  // namespace
}  // namespace sadam::cli
