#include "graphed_step.h"

#include <sadam/s_adam.h>

#include <utility>

#include "access.h"
#include "checks.h"

namespace sadam {
namespace {

GraphRequest checked(GraphRequest request) {
  if (!request.module) throw Error("GraphedStep: there is no module: pass the one that the loss evaluates.");
  if (!request.loss) throw Error("GraphedStep: there is no loss: pass a function of the module and a batch.");
  return request;
}

std::unique_ptr<GraphedStep::Engine> engine_for(GraphRequest request) {
  if (optim::Access::device(*request.optimizer).is_cpu())
    return std::make_unique<GraphedStep::Engine>(std::move(request));
  return optim::make_graph_engine(std::move(request));
}

// The engine, or another one after the model was moved to another device.
GraphedStep::Engine& at_home(std::unique_ptr<GraphedStep::Engine>& engine) {
  if (!engine->is_at_home()) engine = engine_for(engine->request());
  return *engine;
}

}  // namespace

GraphedStep::GraphedStep(std::shared_ptr<torch::nn::Module> module, Optimizer& optimizer, Loss loss,
                         const GraphOptions& options, Prepare prepare) {
  engine_ =
      engine_for(checked({std::move(module), &optimizer, std::move(loss), options, std::move(prepare)}));
}

GraphedStep::GraphedStep(GraphedStep&&) noexcept = default;
GraphedStep::~GraphedStep() = default;

torch::Tensor GraphedStep::operator()(const Inputs& inputs) {
  return at_home(engine_).checked_step(inputs, std::nullopt);
}

torch::Tensor GraphedStep::operator()(const Inputs& inputs, double brake) {
  return at_home(engine_).checked_step(inputs, brake);
}

bool GraphedStep::is_captured() const { return engine_->captured; }
const std::string& GraphedStep::why_not() const { return engine_->why_not; }
std::int64_t GraphedStep::streams() const { return engine_->streams; }

GraphedStep::Engine::Engine(GraphRequest request)
    : request_(std::move(request)), device_(optim::Access::device(*request_.optimizer)) {}

bool GraphedStep::Engine::is_at_home() const {
  return request_.optimizer->param_groups().empty() || optim::Access::device(*request_.optimizer) == device_;
}

torch::Tensor GraphedStep::Engine::checked_step(const Inputs& inputs, std::optional<double> brake) {
  if (request_.optimizer->param_groups().empty())
    throw Error(
        "GraphedStep: the optimizer has no groups, as one that was moved from: make a GraphedStep "
        "for the one it was moved to.");
  if (brake && dynamic_cast<SAdam*>(request_.optimizer) == nullptr)
    throw Error("GraphedStep: only SAdam takes a brake: leave it out, or use SAdam with damping(0).");
  if (brake) optim::require_at_least_zero(*brake, "GraphedStep: ", "brake");
  return step(inputs, brake);
}

torch::Tensor GraphedStep::Engine::eager_step(const Inputs& inputs, std::optional<double> brake) {
  const auto prepared = request_.prepared(inputs);
  const auto loss_fn = [&] { return request_.loss(*request_.module, prepared); };
  auto& optimizer = *request_.optimizer;
  if (!protects_buffers_) {  // as a captured step does, whether the optimizer knows the module or not
    optimizer.protect(request_.module->buffers());
    protects_buffers_ = true;
  }
  if (!brake) return optimizer.step(loss_fn);
  if (!optim::Access::device(optimizer).is_cpu()) {
    optim::Access::check(optimizer);
    const std::vector<double> brakes(optimizer.param_groups().size(), *brake);
    return optim::Access::device_work(optimizer).step(optimizer, loss_fn, "GraphedStep", brakes);
  }
  auto& s_adam = static_cast<SAdam&>(optimizer);
  s_adam.zero_grad();
  const auto loss = loss_fn();
  loss.backward();
  s_adam.step(*brake);
  optim::Access::summary(optimizer).loss = loss.item<double>();
  return loss.detach();
}

}  // namespace sadam
