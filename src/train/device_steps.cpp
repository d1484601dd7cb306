// Steps on a GPU: captured as graphs, fed from data that lives there, and not waited for.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <sadam/graphed_step.h>
#include <torch/nn/module.h>

#include <utility>

#include "base/quantities.h"
#include "nn/classifier.h"
#include "optim/access.h"
#include "train/batches.h"
#include "train/device.h"
#include "train/device_memory.h"
#include "train/setup.h"
#include "train/stepper.h"
#include "train/steps.h"

namespace sadam::train {
namespace {

// Summaries are fetched in lots, since each fetch waits for the device.
constexpr std::int64_t kLot = 128;

/// Tensors that batches are written to.
struct BatchTensors {
  at::Tensor images;
  at::Tensor labels;

  BatchTensors(std::int64_t count, std::size_t pixels, c10::Device device) {
    const auto side = static_cast<std::int64_t>(pixels);
    images = at::empty({count, 3, side, side}, at::TensorOptions().dtype(at::kFloat).device(device));
    labels = at::empty({count}, at::TensorOptions().dtype(at::kLong).device(device));
  }
  std::vector<at::Tensor> first(std::size_t count) const {
    const auto n = static_cast<std::int64_t>(count);
    return {images.narrow(0, 0, n), labels.narrow(0, 0, n)};
  }
};

class DeviceSteps : public Steps {
 public:
  explicit DeviceSteps(const StepsRequest& request)
      : request_(request),
        device_(device_named(request.recipe.train.device)),
        train_(open_batches(request.data.train, loader_options(request.recipe, request.data, true), device_)),
        test_(open_batches(request.data.test, loader_options(request.recipe, request.data, false), device_)),
        test_batch_(request.recipe.train.evaluate_batch, request.data.test->pixels(), device_) {
    for (std::int64_t i = 0; i < request.recipe.train.accumulate; ++i)
      train_batches_.emplace_back(request.recipe.train.batch, request.data.train->pixels(), device_);
    if (!request.stepper.takes_plain_steps()) return;
    const auto logits = request.network.logits();
    graphed_.emplace(
        request.network.shared_module(), request.stepper.optimizer(),
        [logits](torch::nn::Module& module, const GraphedStep::Inputs& inputs) {
          return cross_entropy(logits(module, inputs[0]), inputs[1]);
        },
        GraphOptions(),
        [this](const GraphedStep::Inputs& inputs) {
          return GraphedStep::Inputs{request_.network.prepare(inputs[0]), inputs[1]};
        });
  }

  std::int64_t batches() const override { return static_cast<std::int64_t>(train_->batches()); }

  void start(std::int64_t epoch, std::int64_t first_batch) override {
    train_->start(static_cast<std::size_t>(epoch), static_cast<std::size_t>(first_batch));
  }

  void step(double lr) override {
    if (!graphed_) return step_eagerly(lr);
    const auto count = train_->next(train_batches_[0].images, train_batches_[0].labels);
    request_.stepper.set_lr(lr);
    const auto inputs = train_batches_[0].first(count);
    const auto brake = request_.stepper.next_brake();
    if (brake)
      (*graphed_)(inputs, *brake);
    else
      (*graphed_)(inputs);
    ++pending_;
  }

  std::vector<StepSummary> summaries(bool all) override {
    if (!graphed_) return std::exchange(summaries_, {});
    if (pending_ == 0 || (!all && pending_ < kLot)) return {};
    pending_ = 0;
    return optim::Access::device_work(request_.stepper.optimizer()).take_summaries();
  }

  std::optional<Evaluation> evaluate(const std::atomic<bool>* stop) override {
    const at::NoGradGuard no_grad;
    auto& module = request_.network.module();
    const bool was_training = module.is_training();
    module.eval();
    auto loss = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device_));
    auto right = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device_));
    std::int64_t images = 0;
    bool stopped = false;
    test_->start(0);
    while (!stopped) {
      const auto count = test_->next(test_batch_.images, test_batch_.labels);
      if (count == 0) break;
      const auto batch = test_batch_.first(count);
      const auto logits = request_.network.logits_of(batch[0])();
      loss += cross_entropy(logits, batch[1]) * static_cast<double>(count);
      right += logits.argmax(1).eq(batch[1]).sum();
      images += static_cast<std::int64_t>(count);
      stopped = stop != nullptr && *stop;
    }
    module.train(was_training);
    if (stopped) return std::nullopt;
    const auto n = static_cast<double>(images);
    return Evaluation{loss.item<double>() / n, static_cast<double>(right.item<std::int64_t>()) / n, images};
  }

  std::int64_t peak_memory() const override { return request_.device_memory->peak(); }

  std::string manner() const override {
    std::string words = "images live on the ";
    words += train_->device_bytes() > 0 ? "GPU" : "host";
    if (!graphed_) return words + "; steps are taken eagerly, because the recipe clips or accumulates";
    if (!graphed_->is_captured()) return words + "; steps are taken eagerly, because " + graphed_->why_not();
    words += "; a step is one CUDA graph";
    const auto streams = graphed_->streams();
    if (streams == 0) return words;
    return words + ", probes on " + base::counted(static_cast<std::uint64_t>(streams), "stream");
  }

 private:
  // Clipping and accumulation go between the backward pass and the update: the split form.
  void step_eagerly(double lr) {
    std::vector<StepPart> parts;
    std::size_t images = 0;
    std::vector<std::size_t> counts;
    for (auto& tensors : train_batches_) {
      const auto count = train_->next(tensors.images, tensors.labels);
      if (count == 0) break;
      counts.push_back(count);
      images += count;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto batch = train_batches_[i].first(counts[i]);
      parts.push_back({[logits = request_.network.logits_of(batch[0]), labels = batch[1]] {
                         return cross_entropy(logits(), labels);
                       },
                       static_cast<double>(counts[i]) / static_cast<double>(images)});
    }
    summaries_.push_back(request_.stepper.step(parts, lr));
  }

  StepsRequest request_;
  c10::Device device_;
  std::unique_ptr<Batches> train_;
  std::unique_ptr<Batches> test_;
  std::vector<BatchTensors> train_batches_;  // of one step
  BatchTensors test_batch_;
  std::optional<GraphedStep> graphed_;
  std::int64_t pending_ = 0;
  std::vector<StepSummary> summaries_;
};

}  // namespace

std::unique_ptr<Steps> make_device_steps(const StepsRequest& request) {
  return std::make_unique<DeviceSteps>(request);
}

}  // namespace sadam::train
