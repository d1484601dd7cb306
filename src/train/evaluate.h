// Loss and accuracy on a whole data set.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace at {
class Tensor;
}
namespace sadam::nn {
class Classifier;
}

namespace sadam::train {

class Feed;

struct Evaluation {
  double loss = 0;      ///< mean cross-entropy
  double accuracy = 0;  ///< between 0 and 1
  std::int64_t images = 0;
};

/// Puts the network into evaluation mode and back into the mode it was in. Nothing if `stop` became true.
std::optional<Evaluation> evaluate(nn::Classifier& classifier, Feed& feed, const std::atomic<bool>* stop);

/// Cross-entropy from logits in double: nearby float32 losses cannot be told apart otherwise.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace sadam::train
