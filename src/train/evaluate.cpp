#include "train/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <torch/nn/module.h>

#include "data/loader.h"
#include "nn/classifier.h"

namespace sadam::train {

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels) {
  return at::cross_entropy_loss(logits.to(at::kDouble), labels);
}

at::Tensor images_of(data::Batch& batch, std::size_t pixels) {
  const auto side = static_cast<std::int64_t>(pixels);
  return at::from_blob(batch.images.data(), {static_cast<std::int64_t>(batch.size), 3, side, side},
                       at::kFloat);
}

at::Tensor labels_of(data::Batch& batch) {
  return at::from_blob(batch.labels.data(), {static_cast<std::int64_t>(batch.size)}, at::kLong);
}

std::optional<Evaluation> evaluate(nn::Classifier& classifier, data::Loader& loader, std::size_t pixels,
                                   const std::atomic<bool>* stop) {
  const at::NoGradGuard no_grad;
  auto& module = classifier.module();
  const bool was_training = module.is_training();
  module.eval();
  double loss = 0;
  std::int64_t right = 0;
  std::int64_t images = 0;
  bool stopped = false;
  const auto device = module.parameters().front().device();
  data::Batch batch;
  loader.start(0);
  while (!stopped && loader.next(batch)) {
    const auto labels = labels_of(batch).to(device);
    const auto logits = classifier.logits_of(images_of(batch, pixels).to(device))();
    loss += cross_entropy(logits, labels).item<double>() * static_cast<double>(batch.size);
    right += logits.argmax(1).eq(labels).sum().item<std::int64_t>();
    images += static_cast<std::int64_t>(batch.size);
    stopped = stop != nullptr && *stop;
  }
  module.train(was_training);
  if (stopped) return std::nullopt;
  const auto count = static_cast<double>(images);
  return Evaluation{loss / count, static_cast<double>(right) / count, images};
}

}  // namespace sadam::train
