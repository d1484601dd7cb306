#include <sadam/graphed_step.h>
#include <sadam/s_adam.h>

#include <sstream>
#include <unordered_set>
#include <utility>

#include "optim/options.h"
#include "step/graph.h"

namespace sadam {

struct GraphedStep::Parts {
  std::shared_ptr<torch::nn::Module> module;
  Optimizer* optimizer = nullptr;
  step::GraphSettings settings;
  std::unique_ptr<step::Graphs> graphs;  // null on the CPU
};

namespace {

at::Device device_of(const Optimizer& optimizer) {
  for (const auto& group : optimizer.param_groups())
    for (const auto& parameter : group.params()) return parameter.device();
  throw Error(
      "GraphedStep: the optimizer has no groups, as one that was moved from: make a GraphedStep for the one "
      "it was moved to.");
}

void check_devices(const torch::nn::Module& module, at::Device device) {
  const auto check = [&](const char* what, const std::string& name, const at::Tensor& tensor) {
    if (tensor.device() == device) return;
    std::ostringstream sentence;
    sentence << "GraphedStep: the module's " << what << " '" << name << "' is on " << tensor.device()
             << " and the optimizer's parameters are on " << device
             << ": move the whole module to one device.";
    throw Error(sentence.str());
  };
  for (const auto& entry : module.named_parameters()) check("parameter", entry.key(), entry.value());
  for (const auto& entry : module.named_buffers()) check("buffer", entry.key(), entry.value());
}

}  // namespace

GraphedStep::GraphedStep(std::shared_ptr<torch::nn::Module> module, Optimizer& optimizer, Loss loss,
                         const GraphOptions& options, Prepare prepare)
    : parts_(std::make_unique<Parts>()) {
  if (!module) throw Error("GraphedStep: there is no module: pass the one that the loss evaluates.");
  if (!loss) throw Error("GraphedStep: there is no loss: pass a function of a batch.");
  optimizer.protect(module->buffers());
  parts_->module = std::move(module);
  parts_->optimizer = &optimizer;
  auto& settings = parts_->settings;
  settings.engine = optimizer.engine_.get();
  settings.device = device_of(optimizer);
  settings.loss = std::move(loss);
  settings.prepare = std::move(prepare);
  settings.streams = options.streams();
  settings.copy_memory = options.replica_memory();
  settings.capture = options.capture();
  if (!settings.device.is_cpu()) parts_->graphs = step::make_graphs(settings);
}

GraphedStep::GraphedStep(GraphedStep&&) noexcept = default;
GraphedStep::~GraphedStep() = default;

void GraphedStep::probe_with(Loss loss) {
  auto& settings = parts_->settings;
  settings.probe_loss = std::move(loss);
  if (!settings.device.is_cpu()) parts_->graphs = step::make_graphs(settings);
}

torch::Tensor GraphedStep::operator()(const Inputs& inputs) { return take(inputs, nullptr); }
torch::Tensor GraphedStep::operator()(const Inputs& inputs, double brake) { return take(inputs, &brake); }

torch::Tensor GraphedStep::take(const Inputs& inputs, const double* brake) {
  auto& optimizer = *parts_->optimizer;
  auto& settings = parts_->settings;
  const auto device = device_of(optimizer);
  if (brake != nullptr) optim::check_brake(*brake, "GraphedStep: ");
  if (device != settings.device) {  // the model was moved
    parts_->graphs.reset();
    settings.device = device;
    if (!device.is_cpu()) parts_->graphs = step::make_graphs(settings);
  }
  if (!device.is_cpu()) check_devices(*parts_->module, device);
  const auto problem = optimizer.problem();
  step::GraphStep asked{problem, inputs, step::examples_in(inputs, settings), {}, {}, {}};
  if (brake != nullptr) asked.brakes.assign(problem.rules.size(), *brake);
  if (!parts_->graphs) {
    const auto loss = step::eager_step(settings, asked);
    optimizer.after_step();
    return loss;
  }
  for (const auto& module : parts_->module->modules()) asked.modes.push_back(module->is_training());
  std::unordered_set<const void*> known;
  for (const auto& buffer : problem.buffers) known.insert(buffer.unsafeGetTensorImpl());
  for (const auto& tensors : {parts_->module->parameters(), problem.parameters})
    for (const auto& tensor : tensors)
      if (known.insert(tensor.unsafeGetTensorImpl()).second) asked.weights.push_back(tensor);
  return parts_->graphs->step(asked);
}

bool GraphedStep::is_captured() const { return parts_->graphs && parts_->graphs->captured; }

const std::string& GraphedStep::why_not() const {
  static const std::string on_the_cpu = "the parameters are on the CPU";
  return parts_->graphs ? parts_->graphs->why_not : on_the_cpu;
}

std::int64_t GraphedStep::streams() const { return parts_->graphs ? parts_->graphs->streams : 0; }

}  // namespace sadam
