// The program on a GPU, as a person runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto info = run_program({"info"});
    ASSERT_EQ(info.status, 0) << info.err;
    if (info.out.find("GPU cuda:0") == std::string::npos)
      GTEST_SKIP() << "there is no GPU here, or libtorch has no CUDA";
  }
  std::string root() const { return folder_.path().string(); }
  Arguments train(const std::string& name, const Arguments& more) const {
    Arguments arguments = {"train", "--root", root(), "--name", name, "--device", "cuda"};
    const auto fields = small_run(320);
    arguments.insert(arguments.end(), fields.begin(), fields.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  nlohmann::json evaluation(const std::string& run, const Arguments& more) const {
    Arguments arguments = {"eval", run, "--root", root(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto ended = run_program(arguments);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return nlohmann::json::parse(ended.out);
  }

  TemporaryFolder folder_;
};

void expect_one_sentence(const Ended& ended, const std::string& words) {
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find(words), std::string::npos) << ended.err;
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
}

TEST_F(OnGpu, TrainsAndEvaluatesOnEitherDevice) {
  for (const char* precision : {"float32", "tf32", "bf16"}) {
    const auto trained =
        run_program(train(precision, {"--set", std::string("train.precision=") + precision}));
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_EQ(trained.err, "") << precision;
    const auto there = evaluation(precision, {});
    const auto here = evaluation(precision, {"--device", "cpu", "--set", "train.precision=float32"});
    EXPECT_EQ(there["images"], 50);
    EXPECT_NEAR(there["loss"].get<double>(), here["loss"].get<double>(), 0.05 * here["loss"].get<double>());
  }
}

TEST_F(OnGpu, DeterministicRunsAreTheSameToTheBit) {
  const auto steps_of = [&](const std::string& name) {
    const auto trained = run_program(
        train(name, {"--deterministic", "--set", "model.name=resnet18", "--set", "optimizer.probes=2"}));
    EXPECT_EQ(trained.status, 0) << trained.err;
    std::ifstream events(folder_.path() / name / "events.jsonl");
    std::string steps;
    for (std::string line; std::getline(events, line);)
      if (line.find("\"event\":\"step\"") != std::string::npos) steps += line + '\n';
    return steps;
  };
  const auto first = steps_of("first");
  EXPECT_NE(first, "");
  EXPECT_EQ(first, steps_of("second"));
  EXPECT_EQ(evaluation("first", {"--deterministic"}).at("loss"),
            evaluation("second", {"--deterministic"}).at("loss"));
}

// All rows and controls of a table, each on the GPU; what is done is not done again.
TEST_F(OnGpu, ReproducesATable) {
  const auto table = (folder_.path() / "small.toml").string();
  std::ofstream(table) << small_table();
  const Arguments reproduce = {"reproduce", table, "--root", root(), "--device", "cuda", "--quiet"};
  const auto first = run_program(reproduce);
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.err, "");
  for (const char* row : {"adamw", "adamw.cosine", "sadam", "sadam.matched", "sadam.shuffled"}) {
    const auto run = folder_.path() / "small" / "c" / row / "seed-1";
    std::stringstream recipe;
    recipe << std::ifstream(run / "run.toml").rdbuf();
    EXPECT_NE(recipe.str().find("device = \"cuda"), std::string::npos) << row << ": " << recipe.str();
    std::stringstream events;
    events << std::ifstream(run / "events.jsonl").rdbuf();
    const std::string probes = row == std::string("sadam") ? ", probes on 2 streams" : "";
    EXPECT_NE(events.str().find("images live on the GPU; a step is one CUDA graph" + probes + "\""),
              std::string::npos)
        << row << ": " << events.str().substr(0, 500);
  }
  const auto second = run_program(reproduce);
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
}

// Two ranks, which share the GPU where there is but one.
TEST_F(OnGpu, SeveralProcessesTrainTheRunOfOne) {
  const Arguments plain = {"--deterministic", "--set", "model.dropout=0", "--set", "optimizer.probes=4"};
  const auto with = [&](const std::string& name, const Arguments& more) {
    auto arguments = plain;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto trained = run_program(train(name, arguments));
    EXPECT_EQ(trained.status, 0) << name << ": " << trained.err;
    return evaluation(name, {"--deterministic"}).at("loss").get<double>();
  };
  const auto one = with("one", {});
  EXPECT_EQ(with("probes", {"--processes", "2", "--set", "train.split=probes"}), one);
  const auto parts = with("parts", {"--set", "train.batch=8", "--set", "train.accumulate=2"});
  EXPECT_NEAR(with("batch", {"--processes", "2"}), parts, 1e-3 * parts);
  std::stringstream events;
  events << std::ifstream(folder_.path() / "batch" / "events.jsonl").rdbuf();
  EXPECT_NE(events.str().find("a step is one CUDA graph"), std::string::npos) << events.str().substr(0, 500);
}

TEST_F(OnGpu, AGpuThatIsNotThereIsNamed) {
  auto arguments = train("run", {});
  arguments[6] = "cuda:63";
  expect_one_sentence(run_program(arguments), "there is no GPU 63 here");
}

TEST_F(OnGpu, MemoryThatRunsOutIsSaid) {
  const Arguments large = {"--set", "model.name=resnet18",     "--set", "data.pixels=224",
                           "--set", "data.train_images=50000", "--set", "train.batch=50000",
                           "--set", "optimizer.name=adamw"};
  expect_one_sentence(run_program(train("captured", large)), "memory is used up");
  auto eager = large;
  eager.insert(eager.end(), {"--set", "train.clip=1"});
  expect_one_sentence(run_program(train("eager", eager)), "memory is used up");
}

}  // namespace
}  // namespace sadam::cli
