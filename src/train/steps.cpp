#include "train/steps.h"

#include <ATen/core/Tensor.h>

#include <utility>

#include "data/loader.h"
#include "nn/classifier.h"
#include "train/device.h"
#include "train/peak_memory.h"
#include "train/setup.h"
#include "train/stepper.h"

namespace sadam::train {
namespace {

class CpuSteps : public Steps {
 public:
  explicit CpuSteps(const StepsRequest& request)
      : request_(request),
        train_(request.data.train, loader_options(request.recipe, request.data, true)),
        test_(request.data.test, loader_options(request.recipe, request.data, false)),
        batches_(static_cast<std::size_t>(request.recipe.train.accumulate)) {}

  std::int64_t batches() const override { return static_cast<std::int64_t>(train_.batches()); }

  void start(std::int64_t epoch, std::int64_t first_batch) override {
    train_.start(static_cast<std::size_t>(epoch), static_cast<std::size_t>(first_batch));
  }

  void step(double lr) override {
    std::size_t images = 0;
    std::size_t used = 0;
    while (used < batches_.size() && train_.next(batches_[used])) images += batches_[used++].size;
    std::vector<StepPart> parts;
    for (std::size_t i = 0; i < used; ++i) {
      auto& batch = batches_[i];
      parts.push_back({[logits = request_.network.logits_of(images_of(batch, request_.data.train->pixels())),
                        labels = labels_of(batch)] { return cross_entropy(logits(), labels); },
                       static_cast<double>(batch.size) / static_cast<double>(images)});
    }
    summaries_.push_back(request_.stepper.step(parts, lr));
  }

  std::vector<StepSummary> summaries(bool) override { return std::exchange(summaries_, {}); }

  std::optional<Evaluation> evaluate(const std::atomic<bool>* stop) override {
    return train::evaluate(request_.network, test_, request_.data.test->pixels(), stop);
  }

  std::int64_t peak_memory() const override { return train::peak_memory(); }

 private:
  StepsRequest request_;
  data::Loader train_;
  data::Loader test_;
  std::vector<data::Batch> batches_;  // of one step
  std::vector<StepSummary> summaries_;
};

}  // namespace

std::unique_ptr<Steps> make_steps(const StepsRequest& request) {
  if (is_gpu(request.recipe.train.device)) return make_device_steps(request);
  return std::make_unique<CpuSteps>(request);
}

}  // namespace sadam::train
