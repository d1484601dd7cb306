#include "graph.h"

namespace sadam::step {

at::Tensor eager_step(const GraphSettings& settings, const GraphStep& asked) {
  const auto prepared = settings.prepare ? settings.prepare(asked.inputs) : asked.inputs;
  if (settings.streams == 0) settings.engine->move_in_place();
  Request request;
  request.caller = "GraphedStep";
  request.parts = {[&] { return settings.loss(prepared); }};
  request.brakes = asked.brakes;
  return settings.engine->step(asked.problem, request);
}

}  // namespace sadam::step
