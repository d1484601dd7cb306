#include <sadam/adamw.h>
#include <sadam/error.h>

#include <sstream>

#include "optim/optimizer_of.h"
#include "step/archive.h"

namespace sadam {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

AdamWOptions AdamWOptions::adabound(double lr, double final_lr) {
  if (!(lr > 0)) {
    std::ostringstream sentence;
    sentence << "AdaBound: lr is " << lr << ": it must be above 0, because the bounds are multiples of it.";
    throw Error(sentence.str());
  }
  return AdamWOptions(lr).final_ratio(final_lr / lr);
}

void AdamWParamState::serialize(InputArchive& archive) {
  step(step::read_value(archive, "step").toInt());
  if (step() < 0) throw Error("load: a saved count of updates is negative: the file is damaged.");
  exp_avg(step::read_value(archive, "exp_avg").toTensor());
  exp_avg_sq(step::read_value(archive, "exp_avg_sq").toTensor());
}

void AdamWParamState::serialize(OutputArchive& archive) const {
  archive.write("step", c10::IValue(step()));
  archive.write("exp_avg", c10::IValue(exp_avg()));
  archive.write("exp_avg_sq", c10::IValue(exp_avg_sq()));
}

bool operator==(const AdamWParamState& lhs, const AdamWParamState& rhs) {
  return lhs.step() == rhs.step() && torch::equal(lhs.exp_avg(), rhs.exp_avg()) &&
         torch::equal(lhs.exp_avg_sq(), rhs.exp_avg_sq());
}

template class OptimizerOf<AdamWOptions, AdamWParamState>;

}  // namespace sadam
