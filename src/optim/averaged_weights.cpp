#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/all.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/DeviceGuard.h>
#include <sadam/averaged_weights.h>
#include <sadam/error.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "step/archive.h"
#include "step/backend.h"
#include "step/passes.h"

namespace sadam {
namespace {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

bool is_like(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type();
}

// One launch for all, where there are kernels; versions are not touched.
void copy_all(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
  if (to.empty()) return;
  const at::NoGradGuard no_grad;
  const auto device = to.front().device();
  const c10::DeviceGuard guard(device);
  const bool has_kernels = device.is_cpu() || (device.is_cuda() && step::built_with_cuda());
  step::TensorPairs pairs;
  for (std::size_t i = 0; i < to.size(); ++i) {
    pairs.emplace_back(to[i].variable_data(), from[i].variable_data());
    if (has_kernels && to[i].device() == device) continue;
    pairs.back().first.copy_(pairs.back().second);
    pairs.pop_back();
  }
  if (!pairs.empty()) step::copy_tensors(*step::make_backend(device), pairs);
  at::autocast::clear_cache();  // it holds casts of the weights as they were
}

std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const auto& tensor : tensors) copies.push_back(at::empty_like(tensor.variable_data()));
  copy_all(copies, tensors);
  return copies;
}

}  // namespace

AveragedWeights::AveragedWeights(const torch::nn::Module& module, double decay) : decay_(decay) {
  if (!(decay > 0 && decay <= 1)) {
    std::ostringstream sentence;
    sentence << "AveragedWeights: the decay is " << decay
             << ": it must be above 0 and at most 1, where 1 is the equal average.";
    throw Error(sentence.str());
  }
  std::unordered_set<const void*> seen;
  for (const auto& tensors : {module.parameters(), module.buffers()})
    for (const auto& tensor : tensors)
      if (tensor.defined() && seen.insert(tensor.unsafeGetTensorImpl()).second) tensors_.push_back(tensor);
  if (tensors_.empty())
    throw Error("AveragedWeights: the module has no parameters: give it the one that is trained.");
}

/// The average goes where the module went, and has its types.
void AveragedWeights::follow_module() {
  for (std::size_t i = 0; i < average_.size(); ++i) {
    if (average_[i].sizes() != tensors_[i].sizes())
      throw Error("AveragedWeights: a tensor of the module has another shape now: make a new average.");
    average_[i] = average_[i].to(tensors_[i].device(), tensors_[i].scalar_type());
  }
}

void AveragedWeights::update() {
  const at::NoGradGuard no_grad;
  if (updates_ == 0) {
    average_ = copies_of(tensors_);
    updates_ = 1;
    return;
  }
  follow_module();
  if (copied_.empty())
    for (const auto& tensor : average_)
      copied_.push_back(!tensor.is_floating_point() || !at::isfinite(tensor).all().item<bool>());
  const auto t = static_cast<double>(updates_);
  const double rate = decay_ == 1 ? 1 / (t + 1) : 1 - std::min(decay_, (1 + t) / (10 + t));
  // By type, as torch's joint launches want it.
  struct Lists {
    std::vector<at::Tensor> average, weights;
  };
  std::map<at::ScalarType, Lists> averaged;
  Lists copied;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    auto& lists = copied_[i] ? copied : averaged[tensors_[i].scalar_type()];
    lists.average.push_back(average_[i]);
    lists.weights.push_back(tensors_[i].variable_data());
  }
  // In this form weights that do not change are their own average, bit for bit.
  for (auto& [type, lists] : averaged)
    at::_foreach_add_(lists.average, at::_foreach_sub(lists.weights, lists.average), rate);
  copy_all(copied.average, copied.weights);
  ++updates_;
}

// ---- in place of the module's own -------------------------------------------------------------------------

void AveragedWeights::check_use() const {
  if (updates_ == 0) throw Error("AveragedWeights: there is no average yet: call update() after a step.");
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!is_like(average_[i], tensors_[i]))
      throw Error("AveragedWeights: a tensor of the module has another shape or type now: call update().");
}

void AveragedWeights::apply() const {
  check_use();
  copy_all(tensors_, average_);
  for (const auto& tensor : tensors_) tensor.unsafeGetTensorImpl()->bump_version();
}

AveragedWeights::Use::Use(const AveragedWeights& average) {
  average.check_use();
  own_ = copies_of(average.tensors_);
  tensors_ = average.tensors_;
  copy_all(tensors_, average.average_);
}

AveragedWeights::Use::~Use() {
  try {
    copy_all(tensors_, own_);
  } catch (const std::exception& error) {  // a destructor may not throw
    TORCH_WARN("sadam: the weights could not be put back after their average was used: ", error.what());
  }
}

// ---- files ------------------------------------------------------------------------------------------------

void AveragedWeights::save(OutputArchive& archive) const {
  archive.write("updates", c10::IValue(updates_));
  archive.write("decay", c10::IValue(decay_));
  archive.write("tensors", c10::IValue(static_cast<std::int64_t>(average_.size())));
  for (std::size_t i = 0; i < average_.size(); ++i)
    archive.write(std::to_string(i), average_[i], /*is_buffer=*/true);
}

void AveragedWeights::load(InputArchive& archive) {
  const auto updates = step::read_value(archive, "updates").toInt();
  const auto decay = step::read_value(archive, "decay").toDouble();
  const auto count = static_cast<std::size_t>(step::read_value(archive, "tensors").toInt());
  const auto misfit = [](const char* what) {
    throw Error(std::string("load: the saved average ") + what + ": build the model that it was saved with.");
  };
  if (count != (updates == 0 ? 0 : tensors_.size())) misfit("has another number of tensors than the model");
  std::vector<at::Tensor> average(count);
  for (std::size_t i = 0; i < count; ++i) {
    archive.read(std::to_string(i), average[i], /*is_buffer=*/true);
    if (!is_like(average[i], tensors_[i])) misfit("has a tensor of another shape or type than the model's");
    average[i] = average[i].to(tensors_[i].device());
  }
  average_ = std::move(average);
  copied_.clear();
  updates_ = updates;
  decay_ = decay;
}

}  // namespace sadam
