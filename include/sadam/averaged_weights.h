// Averages of the weights over training: what to evaluate and keep instead of the last ones.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/serialize/archive.h>

#include <cstdint>
#include <vector>

namespace sadam {

/// A running average of a module's weights.
///
///     sadam::AveragedWeights average(model, 0.999);
///     for (auto& batch : *loader) {
///       optimizer.step([&] { return loss_of(model, batch); });
///       average.update();
///     }
///     {
///       const auto averaged = average.use();  // the model has the averaged weights here
///       evaluate(model);
///     }                                       // and its own again, bit for bit
///
/// Floating-point buffers (batch-norm statistics) are averaged too; all others, and masks of infinities, are
/// copied. The first update takes the weights as they are. With a decay d below 1, update t + 1 makes average
/// ← average + (1 − dₜ)(w − average), dₜ = min(d, (1 + t)/(10 + t)), so that the start is soon forgotten: an
/// exponential moving average. With d = 1 it is the equal average of all updates (Polyak; SWA where updates
/// are epochs apart).
///
/// The module must outlive this and keep its tensors; it may be moved to another device between updates. On a
/// GPU an update is a few launches for all tensors together, which nothing waits for.
class AveragedWeights {
 public:
  explicit AveragedWeights(const torch::nn::Module& module, double decay = 0.999);
  /// Of a module holder, such as `torch::nn::Sequential model`.
  template <class Impl>
  explicit AveragedWeights(const torch::nn::ModuleHolder<Impl>& model, double decay = 0.999)
      : AveragedWeights(static_cast<const torch::nn::Module&>(*model), decay) {}

  /// After each step that is to count.
  void update();
  std::int64_t updates() const { return updates_; }
  double decay() const { return decay_; }

  /// While it lives, the module has the averaged weights and buffers where its own were; then those are put
  /// back, bit for bit, whatever became of the others meanwhile.
  class Use {
   public:
    ~Use();
    Use(Use&&) = default;
    Use& operator=(Use&&) = delete;

   private:
    friend class AveragedWeights;
    explicit Use(const AveragedWeights& average);
    std::vector<torch::Tensor> tensors_;
    std::vector<torch::Tensor> own_;
  };
  /// Refused before the first update.
  [[nodiscard]] Use use() const { return Use(*this); }

  /// Gives the module the averaged weights and buffers for good. Refused before the first update.
  void apply() const;

  /// What `torch::save` and `torch::load` call. A state that does not fit is refused and changes nothing.
  void save(torch::serialize::OutputArchive& archive) const;
  void load(torch::serialize::InputArchive& archive);

 private:
  void follow_module();
  void check_use() const;

  std::vector<torch::Tensor> tensors_;  // of the module: parameters, then buffers, each once
  std::vector<torch::Tensor> average_;  // like them; nothing before the first update
  std::vector<bool> copied_;            // of them: has no average; nothing before the second update
  double decay_;
  std::int64_t updates_ = 0;
};

inline torch::serialize::OutputArchive& operator<<(torch::serialize::OutputArchive& archive,
                                                   const AveragedWeights& average) {
  average.save(archive);
  return archive;
}
inline torch::serialize::InputArchive& operator>>(torch::serialize::InputArchive& archive,
                                                  AveragedWeights& average) {
  average.load(archive);
  return archive;
}

}  // namespace sadam
