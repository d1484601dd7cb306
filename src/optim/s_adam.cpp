#include <sadam/s_adam.h>

#include <algorithm>
#include <cmath>

#include "optim/optimizer_of.h"
#include "step/archive.h"
#include "step/engine.h"

namespace sadam {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

Brakes::operator double() const {
  if (per_group.empty()) return 1;
  if (std::any_of(per_group.begin(), per_group.end(), [&](double b) { return b != per_group.front(); }))
    throw Error("the groups have different brakes: pass what probe() returned to step() as it is.");
  return per_group.front();
}

template class OptimizerOf<SAdamOptions, SAdamParamState>;

// ---- steps ------------------------------------------------------------------------------------------------

torch::Tensor SAdam::step(LossClosure closure) {
  if (!closure)
    throw Error(
        "SAdam::step: there is no closure: pass one that returns the loss, or use probe() and step(brake) "
        "after your own backward.");
  return OptimizerOf::step(std::move(closure));
}

void SAdam::begin() { engine().begin(problem()); }

Brakes SAdam::probe(const LossClosure& loss_fn, const torch::Tensor& loss) {
  return probe(std::vector<LossClosure>{loss_fn}, loss);
}

Brakes SAdam::probe(std::initializer_list<LossClosure> parts, const torch::Tensor& loss) {
  return probe(std::vector<LossClosure>(parts), loss);
}

Brakes SAdam::probe(const std::vector<LossClosure>& parts, const torch::Tensor& loss) {
  const bool complete =
      std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part != nullptr; });
  if (parts.empty() || !complete)
    throw Error("SAdam::probe: there is no loss function: pass one that returns the loss.");
  step::Request request;
  request.caller = "SAdam::probe";
  request.parts = parts;
  const auto found = engine().probe(problem(), request, loss);
  return {found.lgi, found.group_brakes};
}

void SAdam::step(const Brakes& brakes) {
  const auto what = problem();
  if (brakes.per_group.size() != param_groups().size())
    throw Error("SAdam::step: there are " + std::to_string(brakes.per_group.size()) + " brakes for " +
                std::to_string(param_groups().size()) + " groups: pass what probe() returned.");
  for (double brake : brakes.per_group) optim::check_brake(brake, "SAdam::step: ");
  step::Request request;
  request.caller = "SAdam::step";
  request.brakes = brakes.per_group;
  engine().apply(what, request);
  after_step();
}

void SAdam::step(double brake) { step(Brakes{0, std::vector<double>(param_groups().size(), brake)}); }

// ---- files ------------------------------------------------------------------------------------------------

std::vector<kernels::GroupMemory> SAdam::memory() const {
  auto known = engine().memory();
  const bool common = !known.empty() && !whole().group_by_group();
  known.resize(param_groups().size(), common ? known.back() : kernels::GroupMemory());
  return known;
}

void SAdam::save(OutputArchive& archive) const {
  Optimizer::save(archive);
  archive.write("has_source", c10::IValue(static_cast<bool>(whole().source())));
  std::vector<double> lgi;
  std::vector<double> brakes;
  for (const auto& of_group : memory()) {
    lgi.push_back(of_group.lgi);
    brakes.push_back(of_group.brake);
  }
  archive.write("last_lgi", c10::IValue(lgi));
  archive.write("held_brakes", c10::IValue(brakes));
}

std::vector<kernels::GroupMemory> SAdam::accept(
    InputArchive& archive, torch::optim::OptimizerOptions& new_defaults,
    const std::vector<std::unique_ptr<torch::optim::OptimizerOptions>>& options) const {
  const auto lgi = step::read_value(archive, "last_lgi").toDoubleVector();
  std::vector<double> brakes(lgi.size(), 1);  // of an archive from before there were any
  if (c10::IValue saved; archive.try_read("held_brakes", saved)) brakes = saved.toDoubleVector();
  if (lgi.size() != options.size() || brakes.size() != options.size())
    throw Error("load: the saved state has another number of groups and ρ: the file is damaged.");
  std::vector<kernels::GroupMemory> memory;
  for (std::size_t g = 0; g < lgi.size(); ++g) memory.push_back({lgi[g], brakes[g]});
  if (step::read_value(archive, "has_source").toBool() && !whole().source())
    throw Error(
        "load: the state was saved with a caller's direction source, which a file cannot hold: build SAdam "
        "with .source(...) first.");
  OptimizerOf::accept(archive, new_defaults, options);
  return memory;
}

}  // namespace sadam
