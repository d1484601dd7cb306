#include "train/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>

#include "nn/classifier.h"
#include "train/feed.h"

namespace sadam::train {

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels) {
  return at::cross_entropy_loss(logits.to(at::kDouble), labels);
}

std::optional<Evaluation> evaluate(nn::Classifier& classifier, Feed& feed, const std::atomic<bool>* stop) {
  const at::NoGradGuard no_grad;
  auto& module = classifier.module();
  const bool was_training = module.is_training();
  module.eval();
  // Sums stay on the device, which is waited for at the end.
  const auto there = at::TensorOptions().device(module.parameters().front().device());
  auto loss = at::zeros({}, there.dtype(at::kDouble));
  auto right = at::zeros({}, there.dtype(at::kLong));
  std::int64_t images = 0;
  bool stopped = false;
  feed.start(0);
  while (!stopped) {
    const auto batches = feed.next();
    if (batches.empty()) break;
    const auto& labels = batches[0][1];
    const auto logits = classifier.logits(classifier.prepare(batches[0][0]));
    loss += cross_entropy(logits, labels) * static_cast<double>(labels.size(0));
    right += logits.argmax(1).eq(labels).sum();
    images += labels.size(0);
    stopped = stop != nullptr && *stop;
  }
  module.train(was_training);
  if (stopped) return std::nullopt;
  const auto n = static_cast<double>(images);
  return Evaluation{loss.item<double>() / n, static_cast<double>(right.item<std::int64_t>()) / n, images};
}

}  // namespace sadam::train
