// sadam probe: a run of ours, and a model of anyone's.
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "nn/weights/tensor_file.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

/// A TorchScript file with this forward, and with a parameter w of five ones if asked.
std::string script(const std::filesystem::path& path, const std::string& forward, bool has_parameter = true) {
  torch::jit::Module module("Model");
  if (has_parameter)
    module.register_parameter("w", at::ones({5}).set_requires_grad(true), /*is_buffer=*/false);
  module.define(forward + "\n");
  module.save(path.string());
  return path.string();
}

/// float32 tensors, each with as many elements as it is given.
std::string batch(const std::filesystem::path& path,
                  const std::map<std::string, std::vector<float>>& tensors) {
  std::vector<weights::Tensor> list;
  for (const auto& [name, values] : tensors)
    list.push_back({name,
                    weights::DType::float32,
                    {static_cast<std::int64_t>(values.size())},
                    std::as_bytes(std::span(values))});
  const auto bytes = weights::write_safetensors(list, {});
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path.string();
}

class Probe : public ::testing::Test {
 protected:
  Ended probe(const std::string& forward, const std::map<std::string, std::vector<float>>& tensors,
              bool has_parameter = true) {
    return run_program({"probe", "--json", "--script", script(folder_ / "model.pt", forward, has_parameter),
                        "--batch", batch(folder_ / "batch.safetensors", tensors)});
  }
  TemporaryFolder folder_;
  const std::map<std::string, std::vector<float>> xy_ = {{"x", {1, 2, 3, 4, 5}}, {"y", {1}}};
};

TEST_F(Probe, TakesATorchScriptModelAndItsBatch) {
  const auto smooth = probe("def forward(self, x, y):\n  return ((self.w * x).sum() - y[0]) ** 2", xy_);
  ASSERT_EQ(smooth.status, 0) << smooth.err;
  const auto found = nlohmann::json::parse(smooth.out);
  EXPECT_EQ(found["loss"], 196);
  EXPECT_EQ(found["parameters"], 5);
  EXPECT_EQ(found["signature"]["smoothness"], "smooth");
  const auto kinked =
      probe("def forward(self, x, y):\n  return (self.w - y[0]).abs().sum() + 0 * x.sum()", xy_);
  ASSERT_EQ(kinked.status, 0) << kinked.err;
  EXPECT_EQ(nlohmann::json::parse(kinked.out)["signature"]["smoothness"], "kinks");
}

TEST_F(Probe, TakesARun) {
  Arguments train = {"train", "--root", folder_.path().string(), "--name", "run"};
  const auto fields = small_run();
  train.insert(train.end(), fields.begin(), fields.end());
  ASSERT_EQ(run_program(train).status, 0);
  const auto ended = run_program({"probe", (folder_ / "run").string(), "--no-layers", "--probes", "2"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  for (const auto* part : {"residual", "Instability (LGI) by estimator", "Suggested: AdamW"})
    EXPECT_NE(ended.out.find(part), std::string::npos) << ended.out;
}

TEST_F(Probe, SaysInOneSentenceWhatIsWrongWithAModel) {
  const std::string good = "def forward(self, x, y):\n  return (self.w * x).sum() * y[0]";
  expect_refused(probe(good, {{"x", {1}}}), 2, {"has no tensor 'y'; forward takes x, y"});
  expect_refused(probe(good, {{"x", {1}}, {"y", {1}}, {"z", {1}}}), 2, {"leave the others out"});
  expect_refused(probe(good, {{"x", {1, 2}}, {"y", {1}}}), 1, {"forward fails on this batch"});
  expect_refused(probe("def forward(self, x, y):\n  return self.w * x", xy_), 1, {"scalar loss"});
  expect_refused(probe("def forward(self, x, y):\n  return (self.w, x)", xy_), 1, {"and no loss"});
  expect_refused(probe("def forward(self, x, y):\n  return x.sum()", xy_, false), 1,
                 {"no trainable parameters"});
  const auto file = folder_ / "damaged.pt";
  std::ofstream(file) << "not a zip file";
  const auto tensors = batch(folder_ / "batch.safetensors", xy_);
  expect_refused(run_program({"probe", "--script", file.string(), "--batch", tensors}), 1,
                 {"damaged or no TorchScript"});
  expect_refused(run_program({"probe", "--script", "nowhere.pt", "--batch", tensors}), 2,
                 {"there is no file"});
}

TEST_F(Probe, SaysInOneSentenceWhatIsWrongWithItsOptions) {
  expect_refused(run_program({"probe"}), 2, {"probe needs a run, --weights"});
  expect_refused(run_program({"probe", "--script", "a.pt"}), 2, {"go together"});
  expect_refused(run_program({"probe", "run", "--radii", "0,1"}), 2, {"--radii must be above 0"});
  expect_refused(run_program({"probe", "run", "--radii", "1,0.1"}), 2, {"ascending"});
  expect_refused(run_program({"probe", "run", "--radii", "1e-3,inf"}), 2, {"finite"});
  expect_refused(run_program({"probe", "run", "--lr", "nan"}), 2, {"--lr must be above 0 and finite"});
  expect_refused(run_program({"probe", "run", "--seed", "-1"}), 2, {"--seed must be at least 0"});
  expect_refused(run_program({"probe", "run", "--radius", "0"}), 2, {"--radius must be above 0 and finite"});
  expect_refused(run_program({"probe", "run", "--probes", "1"}), 2, {"--probes must be between 2 and 8191"});
}

}  // namespace
}  // namespace sadam::cli
