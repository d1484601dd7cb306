#include "nn/load_weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "nn/weights/tensor_file.h"

namespace sadam::nn {
namespace {

constexpr std::string_view kLastLayer = "fc.";

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Parameters, then buffers.
NamedTensors state_of(const torch::nn::Module& model) {
  NamedTensors state;
  for (const auto& parameter : model.named_parameters())
    state.emplace_back(parameter.key(), parameter.value());
  for (const auto& buffer : model.named_buffers()) state.emplace_back(buffer.key(), buffer.value());
  std::erase_if(state, [](const auto& entry) { return !entry.second.defined(); });
  return state;
}

using TensorsByName = std::unordered_map<std::string_view, const weights::Tensor*>;

TensorsByName by_name(const weights::TensorFile& file) {
  TensorsByName tensors;
  for (const auto& tensor : file.tensors) tensors.emplace(tensor.name, &tensor);
  return tensors;
}

bool in_last_layer(std::string_view name) { return name.starts_with(kLastLayer); }

/// Of the batches that a batch norm has seen. libtorch's Module::to turns it into a real number together with
/// the weights, so its type says nothing.
bool is_count(std::string_view name) { return name.ends_with("num_batches_tracked"); }

bool holds_weights(weights::DType dtype) {
  using enum weights::DType;
  return dtype == float16 || dtype == bfloat16 || dtype == float32 || dtype == float64;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "×"));
}

// In the order of weights::DType.
constexpr std::array kScalarTypes = {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kByte,
                                     at::kChar, at::kShort,    at::kInt,   at::kLong,   at::kBool};

std::string type_text(const at::Tensor& tensor) {
  const auto* const found = std::ranges::find(kScalarTypes, tensor.scalar_type());
  if (found == kScalarTypes.end()) return c10::toString(tensor.scalar_type());
  return std::string(weights::name(static_cast<weights::DType>(found - kScalarTypes.begin())));
}

/// How the two differ, "" if they do not.
std::string difference(const weights::Tensor& from, const at::Tensor& to) {
  const std::span<const std::int64_t> shape(to.sizes().data(), to.sizes().size());
  if (!std::ranges::equal(from.shape, shape)) {
    return fmt::format("file {}, model {}", shape_text(from.shape), shape_text(shape));
  }
  if (is_count(from.name) || holds_weights(from.dtype) == to.is_floating_point()) return "";
  return fmt::format("file {}, model {}", weights::name(from.dtype), type_text(to));
}

/// How a file differs from the parameters and buffers of a network.
struct Differences {
  /// What the network has and the file has not; never num_batches_tracked, which old files lack and nothing
  /// depends on.
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;  ///< what the file has and the network has not
  /// "fc.weight: file 1000×512, model 100×512", or "fc.weight: file int64, model float32" where integers meet
  /// real numbers; num_batches_tracked may be either
  std::vector<std::string> mis_shaped;

  bool fits() const { return missing.empty() && unexpected.empty() && mis_shaped.empty(); }
};

Differences compare(const NamedTensors& state, const TensorsByName& tensors,
                    const weights::TensorFile& file) {
  Differences report;
  std::unordered_set<std::string_view> known;
  for (const auto& [name, value] : state) {
    known.insert(name);
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      if (!is_count(name)) report.missing.push_back(name);
      continue;
    }
    const auto text = difference(*found->second, value);
    if (!text.empty()) report.mis_shaped.push_back(fmt::format("{}: {}", name, text));
  }
  for (const auto& tensor : file.tensors) {
    if (!known.contains(tensor.name)) report.unexpected.push_back(tensor.name);
  }
  return report;
}

/// Takes the last layer out of a report; true if it was in it.
bool forgive_last_layer(Differences& report) {
  const auto forgiven = std::erase_if(report.missing, in_last_layer) +
                        std::erase_if(report.unexpected, in_last_layer) +
                        std::erase_if(report.mis_shaped, in_last_layer);
  return forgiven > 0;
}

/// "3 missing ('a', 'b', 'c')", with the first ten names.
std::string listed(std::string_view kind, std::span<const std::string> names) {
  constexpr std::size_t kMost = 10;
  const auto shown = names.first(std::min(kMost, names.size()));
  return fmt::format("{} {} ({}{})", names.size(), kind, fmt::join(shown, ", "),
                     names.size() > kMost ? ", …" : "");
}

std::string sentence_about(const Differences& report, const std::string& source) {
  std::vector<std::string> quoted;  // names from outside
  for (const auto& name : report.unexpected) quoted.push_back(base::in_quotes(name));
  std::vector<std::string> parts;
  if (!report.missing.empty()) parts.push_back(listed("missing", report.missing));
  if (!quoted.empty()) parts.push_back(listed("unexpected", quoted));
  if (!report.mis_shaped.empty()) parts.push_back(listed("mis-shaped", report.mis_shaped));
  return fmt::format("{} does not fit the model: {}; use weights of this network with as many classes.",
                     source, fmt::join(parts, "; "));
}

}  // namespace

at::Tensor tensor_of(const weights::Tensor& from) {
  const auto type = kScalarTypes.at(static_cast<std::size_t>(from.dtype));
  // Any byte but 0 is true, and a bool must be 0 or 1.
  const auto tensor = at::empty(from.shape, type == at::kBool ? at::kByte : type);
  if (!from.bytes.empty()) std::memcpy(tensor.data_ptr(), from.bytes.data(), from.bytes.size());
  const bool half = type == at::kHalf || type == at::kBFloat16;
  return tensor.to(half ? at::kFloat : type);
}

std::vector<std::string> load_weights(torch::nn::Module& model, const weights::TensorFile& file,
                                      const LoadOptions& options) {
  const auto state = state_of(model);
  const auto tensors = by_name(file);
  auto report = compare(state, tensors, file);
  const bool keep_last_layer = options.replace_last_layer && forgive_last_layer(report);
  if (!report.fits()) throw Error(sentence_about(report, options.source));

  // Everything that can fail comes before the first write.
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  std::vector<std::string> kept;
  for (const auto& [name, value] : state) {
    const auto found = tensors.find(name);
    if (found == tensors.end() || (keep_last_layer && in_last_layer(name))) {
      kept.push_back(name);
    } else {
      copies.emplace_back(value, tensor_of(*found->second).to(value.options().requires_grad(false)));
    }
  }
  const at::NoGradGuard no_graph;
  for (const auto& [to, from] : copies) to.copy_(from);
  return kept;
}

std::vector<std::byte> export_safetensors(const torch::nn::Module& model,
                                          const std::map<std::string, std::string>& metadata) {
  const at::NoGradGuard no_graph;
  NamedTensors values;  // own the elements until they are written
  std::vector<weights::Tensor> tensors;
  for (const auto& [name, value] : state_of(model)) {
    const bool real = value.is_floating_point() && !is_count(name);
    const auto plain = value.to(at::kCPU, real ? at::kFloat : at::kLong).contiguous();
    values.emplace_back(name, plain);
    weights::Tensor tensor{
        name, real ? weights::DType::float32 : weights::DType::int64, plain.sizes().vec(), {}};
    tensor.bytes = {static_cast<const std::byte*>(plain.data_ptr()), plain.nbytes()};
    tensors.push_back(std::move(tensor));
  }
  return weights::write_safetensors(tensors, metadata);
}

}  // namespace sadam::nn
