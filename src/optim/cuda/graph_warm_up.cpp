// The evaluations before a capture: they show what is trained, whether there can be a graph, and on which
// replicas.
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/nn/module.h>

#include <optional>
#include <sstream>

#include "../../probe/loss.h"
#include "../access.h"
#include "graph_engine.h"

namespace sadam::optim::cuda {

void GraphEngine::check_devices() const {
  const auto check = [&](const std::string& what, const std::string& name, const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.device() == device_) return;
    std::ostringstream sentence;
    sentence << "GraphedStep: the module's " << what << " '" << name << "' is on " << tensor.device()
             << " and the optimizer's parameters are on " << device_
             << ": move the whole module to one device.";
    throw Error(sentence.str());
  };
  for (const auto& entry : request_.module->named_parameters())
    check("parameter", entry.key(), entry.value());
  for (const auto& entry : request_.module->named_buffers()) check("buffer", entry.key(), entry.value());
}

std::vector<at::Tensor> GraphEngine::all_parameters() const {
  auto all = request_.module->parameters();
  for (const auto& group : request_.optimizer->param_groups())
    all.insert(all.end(), group.params().begin(), group.params().end());
  return all;
}

std::vector<const void*> GraphEngine::addresses() const {
  std::vector<const void*> all;
  for (const auto& parameter : request_.module->parameters()) all.push_back(parameter.data_ptr());
  return all;
}

// Of the optimizer's parameters alone: gradients of others would be written to memory that the graph does not
// own.
void GraphEngine::backward(const at::Tensor& loss) const {
  std::vector<at::Tensor> inputs;
  for (const auto& group : request_.optimizer->param_groups())
    for (const auto& parameter : group.params())
      if (parameter.requires_grad()) inputs.push_back(parameter);
  if (!inputs.empty()) loss.backward({}, c10::nullopt, false, inputs);
}

void GraphEngine::require_all_in_place() const {
  if (addresses() != parameters_ || !buffers_->fits(*request_.module, Access::buffers(*request_.optimizer)))
    throw Impossible{"the forward pass replaces weights or buffers instead of writing to them"};
}

void GraphEngine::warm_up(const Inputs& inputs, const Key& key, probe::Undo& weights) {
  clear_gradients();
  // Gradients, from which it is known which parameters are trained. Weights that the loss writes are watched
  // here alone: what it writes once it writes always, and later they have been moved.
  const auto evaluate_and_differentiate = [&] {
    at::autocast::clear_cache();
    const at::AutoGradMode with_gradients(true);
    const auto loss = request_.loss(*request_.module, request_.prepared(inputs));
    probe::check_loss(loss, "GraphedStep");
    for (const auto& group : request_.optimizer->param_groups())
      for (const auto& parameter : group.params())
        if (parameter.grad().defined())
          throw Error(
              "GraphedStep: the loss called backward itself: let it return the loss and do nothing else.");
    if (!loss.requires_grad())
      throw Error(
          "GraphedStep: the loss does not need gradients: compute it from parameters that require them.");
    if (!loss.is_cuda())
      throw Error("GraphedStep: the loss is on the CPU and the parameters are on a GPU: compute it there.");
    const auto drawn = [&] {
      return at::cuda::detail::getDefaultCUDAGenerator(device_.index()).get_offset();
    };
    const auto drawn_before = drawn();
    backward(loss);
    backward_draws_ = drawn() != drawn_before;
  };
  std::optional<probe::WrittenMemory> written;
  weights.watch([&] { written.emplace(evaluate_and_differentiate); });
  require_all_in_place();
  Access::check_gradients(*request_.optimizer);
  Access::require_a_gradient(*request_.optimizer, "GraphedStep");
  work().arrange(*request_.optimizer);
  if (key.probing) {
    const bool fit = replicas_made_ && replicas_key_.training == key.training &&
                     replicas_key_.options == key.options && replicas_layout_ == work().layout() &&
                     replicas_work_ == Access::shared_device_work(*request_.optimizer);
    if (!fit) {
      make_replicas(key);
      std::string objection;
      try {
        if (!replicas_.empty()) objection = objection_to(replicas_.front(), inputs, *written);
      } catch (const std::exception& error) {
        drop_replicas();  // they have not been checked
        if (!is_out_of_memory(error)) throw;
        most_streams_ = 0;  // in place, then
        c10::cuda::CUDACachingAllocator::emptyCache();
      } catch (...) {
        drop_replicas();
        throw;
      }
      if (!objection.empty()) {
        TORCH_WARN("sadam: probes run one after the other on the module itself: ", objection);
        drop_replicas();
        most_streams_ = 0;
      }
    }
    clear_gradients();
    enqueue(inputs, key.probing, /*apply=*/false, nullptr);
    require_all_in_place();
  }
}

}  // namespace sadam::optim::cuda
