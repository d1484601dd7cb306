#include <sadam/prox_sgd.h>

#include "optim/optimizer_of.h"
#include "step/archive.h"

namespace sadam {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

void ProxSGDParamState::serialize(InputArchive& archive) {
  momentum_buffer(step::read_value(archive, "momentum_buffer").toTensor());
}

void ProxSGDParamState::serialize(OutputArchive& archive) const {
  archive.write("momentum_buffer", c10::IValue(momentum_buffer()));
}

bool operator==(const ProxSGDParamState& lhs, const ProxSGDParamState& rhs) {
  return torch::equal(lhs.momentum_buffer(), rhs.momentum_buffer());
}

template class OptimizerOf<ProxSGDOptions, ProxSGDParamState>;

}  // namespace sadam
