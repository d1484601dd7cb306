// What an optimizer refuses to work on, each in one sentence with the way out.
#include <ATen/MemoryOverlap.h>
#include <sadam/optimizer.h>
#include <torch/nn/module.h>

#include <optional>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "step/backend.h"

namespace sadam {
namespace {

using torch::optim::OptimizerParamGroup;

bool is_fit(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.is_leaf() &&
         (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble) &&
         (tensor.is_cpu() || (tensor.is_cuda() && step::built_with_cuda())) &&
         at::has_internal_overlap(tensor.unsafeGetTensorImpl()) != at::MemOverlap::Yes;
}

// What is wrong with one parameter, with the way out; "" if nothing is.
std::string fault_of(const at::Tensor& tensor) {
  if (is_fit(tensor)) return "";  // asked in every step
  std::ostringstream fault;
  if (!tensor.defined()) {
    fault << "is undefined: pass only tensors that exist";
  } else if (tensor.layout() != at::kStrided) {
    fault << "is " << (tensor.is_sparse() ? "sparse" : "not a plain tensor")
          << ": sadam works on dense parameters (switch off the sparse gradients of an embedding)";
  } else if (tensor.is_complex()) {
    fault << "is complex: optimise its view_as_real instead";
  } else if (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kDouble) {
    fault << "is of type " << tensor.scalar_type()
          << ": sadam works on float32 and float64 (keep the weights in one of them, and let autocast "
             "compute in less)";
  } else if (!tensor.is_leaf()) {
    fault << "is the result of an operation: pass the leaf tensors that the model registered";
  } else if (!tensor.device().is_cpu() && !(tensor.is_cuda() && step::built_with_cuda())) {
    fault << "is on " << tensor.device() << ": this build of sadam has kernels for the CPU"
          << (step::built_with_cuda() ? " and CUDA" : "") << " only, move the model there";
  } else {
    fault << "has elements that share memory (an expanded tensor): pass a clone of it";
  }
  return fault.str();
}

}  // namespace

void Optimizer::check_parameter(const std::string& name, const at::Tensor& parameter) {
  const auto fault = fault_of(parameter);
  if (!fault.empty()) throw Error("parameter '" + name + "' " + fault + ".");
}

std::vector<OptimizerParamGroup> Optimizer::groups_of(const torch::nn::Module& module) {
  std::vector<at::Tensor> parameters;
  std::unordered_set<const void*> seen;
  for (const auto& entry : module.named_parameters()) {
    check_parameter(entry.key(), entry.value());
    if (seen.insert(entry.value().unsafeGetTensorImpl()).second) parameters.push_back(entry.value());
  }
  if (parameters.empty())
    throw Error(
        "the module has no parameters: give each of its layers to register_module() and each tensor to "
        "register_parameter(), or they are not trained.");
  return {OptimizerParamGroup(parameters)};
}

std::string Optimizer::name_of(std::size_t group, std::size_t index) const {
  if (group < param_groups().size() && index < param_groups()[group].params().size()) {
    const auto found = names_.find(param_groups()[group].params()[index].unsafeGetTensorImpl());
    if (found != names_.end()) return "parameter '" + found->second + "'";
  }
  return "parameter " + std::to_string(index) + " of group " + std::to_string(group);
}

void Optimizer::check_device(std::size_t group, std::size_t index, const at::Tensor& tensor,
                             std::optional<at::Device>& first) const {
  if (!first) first = tensor.device();
  if (tensor.device() == *first) return;
  std::ostringstream sentence;
  sentence << name_of(group, index) << " is on " << tensor.device() << " and others are on " << *first
           << ": move the whole model to one device.";
  throw Error(sentence.str());
}

void Optimizer::check_parameters(const std::vector<OptimizerParamGroup>& groups) const {
  // Places by storage: only tensors of one storage can share memory.
  std::unordered_map<const void*, std::vector<std::pair<std::size_t, std::size_t>>> by_storage;
  std::unordered_map<const void*, std::pair<std::size_t, std::size_t>> places;
  std::optional<at::Device> first_device;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < groups[g].params().size(); ++i) {
      const auto& tensor = groups[g].params()[i];
      const auto fault = fault_of(tensor);
      if (!fault.empty()) throw Error(name_of(g, i) + " " + fault + ".");
      check_device(g, i, tensor, first_device);
      const auto [place, is_new] = places.emplace(tensor.unsafeGetTensorImpl(), std::make_pair(g, i));
      if (!is_new)
        throw Error(name_of(g, i) + " is given twice (it is also " +
                    name_of(place->second.first, place->second.second) + "): list each parameter once.");
      if (tensor.numel() == 0) continue;
      auto& neighbours = by_storage[tensor.storage().unsafeGetStorageImpl()];
      for (const auto& [other_group, other] : neighbours) {
        const auto& tensors = groups[other_group].params();
        const auto overlap =
            at::get_overlap_status(tensor.unsafeGetTensorImpl(), tensors[other].unsafeGetTensorImpl());
        const bool same_start = tensor.data_ptr() == tensors[other].data_ptr();
        if (overlap == at::MemOverlapStatus::Full || overlap == at::MemOverlapStatus::Partial || same_start)
          throw Error(name_of(g, i) + " shares memory with " + name_of(other_group, other) +
                      ": tie weights by registering one tensor twice, and list it once.");
      }
      neighbours.emplace_back(g, i);
    }
  }
}

void Optimizer::check() {
  if (!defaults_) throw Error("this optimizer was moved from: use the one that it was moved to.");
  std::vector<const void*> current;
  for (const auto& group : param_groups())
    for (const auto& tensor : group.params()) {
      current.push_back(tensor.unsafeGetTensorImpl());
      current.push_back(tensor.defined() && tensor.layout() == at::kStrided ? tensor.data_ptr() : nullptr);
    }
  if (current.empty())
    throw Error(
        "the optimizer has no parameters: pass those of the model, and see that it registers "
        "them (register_module, register_parameter).");
  if (current != checked_) {
    check_parameters(param_groups());
    checked_ = std::move(current);
  }
  std::optional<at::Device> first_device;
  for (std::size_t g = 0; g < param_groups().size(); ++g) {
    const auto& group = param_groups()[g];
    check_options(group.options(), param_groups().size() > 1 ? "group " + std::to_string(g) + ": " : "");
    for (std::size_t i = 0; i < group.params().size(); ++i) {
      const auto fault = fault_of(group.params()[i]);  // model->to(...) changes a tensor in place
      if (!fault.empty()) throw Error(name_of(g, i) + " " + fault + ".");
      check_device(g, i, group.params()[i], first_device);
    }
  }
  if (first_device->is_cpu()) return;
  for (const auto& buffer : buffers_)
    if (buffer.device() != *first_device) {
      std::ostringstream sentence;
      sentence << "a protected buffer is on " << buffer.device() << " and the parameters are on "
               << *first_device << ": move the whole model to one device.";
      throw Error(sentence.str());
    }
}

}  // namespace sadam
