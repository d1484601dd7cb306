// Loss and accuracy on a whole data set.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

namespace at {
class Tensor;
}
namespace sadam::data {
class Loader;
struct Batch;
}  // namespace sadam::data
namespace sadam::nn {
class Classifier;
}

namespace sadam::train {

struct Evaluation {
  double loss = 0;      ///< mean cross-entropy
  double accuracy = 0;  ///< between 0 and 1
  std::int64_t images = 0;
};

/// Puts the network into evaluation mode and back into the mode it was in. Nothing if `stop` became true.
std::optional<Evaluation> evaluate(nn::Classifier& classifier, data::Loader& loader, std::size_t pixels,
                                   const std::atomic<bool>* stop);

/// Cross-entropy from logits in double: nearby float32 losses cannot be told apart otherwise.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels);

/// The images and labels of a batch, without a copy: valid while the batch is.
at::Tensor images_of(data::Batch& batch, std::size_t pixels);
at::Tensor labels_of(data::Batch& batch);

}  // namespace sadam::train
