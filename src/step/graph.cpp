#include "step/graph.h"

namespace sadam::step {

std::int64_t examples_in(const Inputs& inputs, const GraphSettings& settings) {
  const bool counts = settings.engine->ranks().split_batch() && !inputs.empty() && inputs.front().dim() > 0;
  return counts ? inputs.front().size(0) : 1;
}

Request request_of(const GraphStep& asked) {
  Request request;
  request.caller = "GraphedStep";
  request.brakes = asked.brakes;
  request.examples = asked.examples;
  return request;
}

void set_losses(Request& request, const GraphSettings& settings, const Inputs& prepared) {
  request.parts = {[&] { return settings.loss(prepared); }};
  if (settings.probe_loss) request.probe_parts = {[&] { return settings.probe_loss(prepared); }};
}

at::Tensor eager_step(const GraphSettings& settings, const GraphStep& asked) {
  // A rank without examples has nothing to prepare.
  const bool prepares = settings.prepare && asked.examples > 0;
  const auto prepared = prepares ? settings.prepare(asked.inputs) : asked.inputs;
  if (settings.streams == 0) settings.engine->move_in_place();
  auto request = request_of(asked);
  set_losses(request, settings, prepared);
  return settings.engine->step(asked.problem, request);
}

}  // namespace sadam::step
