#include "step/graph.h"

namespace sadam::step {

Request request_of(const GraphStep& asked) {
  Request request;
  request.caller = "GraphedStep";
  request.brakes = asked.brakes;
  return request;
}

at::Tensor eager_step(const GraphSettings& settings, const GraphStep& asked) {
  const auto prepared = settings.prepare ? settings.prepare(asked.inputs) : asked.inputs;
  if (settings.streams == 0) settings.engine->move_in_place();
  auto request = request_of(asked);
  request.parts = {[&] { return settings.loss(prepared); }};
  return settings.engine->step(asked.problem, request);
}

}  // namespace sadam::step
