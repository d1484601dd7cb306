// Where and how a loss is not smooth around its weights: what to look at when a model trains badly.
#pragma once

#include <sadam/choices.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace sadam {

/// What to look at. The defaults take about 550 forward passes, and 150 more for each layer.
struct ProbeModelOptions {
  /// Distances from the weights, ascending.
  std::vector<double> radii = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1};
  std::int64_t probes = 16;  ///< k of the estimators, and directions at each radius
  double radius = 0.01;      ///< δ of the estimators
  double lr = 1e-3;          ///< of the Adam step that `Directions::step` looks along
  std::uint64_t seed = 0;
  bool layers = true;  ///< each layer by itself, too
};

/// ρ as one estimator sees it.
struct EstimatorReading {
  Directions directions;
  Statistic statistic;
  double lgi = 0;             ///< mean over eight draws of k directions
  double deviation = 0;       ///< between the draws; 0 for `step`, which draws nothing
  std::int64_t forwards = 0;  ///< forward passes for one ρ, beyond the one of the step
};

/// What moving by δ in random directions does to the loss.
struct RadiusReading {
  double radius = 0;
  double change = 0;         ///< root mean square of f(w + δu) − f(w)
  double residual = 0;       ///< of f(w + δu) − f(w) − δ⟨g,u⟩: what the gradient did not foretell
  bool above_noise = false;  ///< the change is at least ten times the noise
};

/// How the residual falls with the radius: as δ² where the loss is smooth, δ at a kink, δ⁰ at a jump.
enum class Smoothness {
  smooth,  ///< power of 1.75 to 2.3
  kinks,   ///< 0.75 to 1.75; kinks at random distances show as 1.5
  jumps,   ///< below 0.75, jumps at random distances show as 0.5; or above 2.3, where few directions meet one
  unseen   ///< fewer than three radii whose residual is above the noise
};
std::string to_string(Smoothness smoothness);

struct Signature {
  double power = 0;
  double error = 0;  ///< its standard error, from leaving out one direction after the other
  double from = 0;   ///< the radii it is fitted to: the smallest four above the noise
  double to = 0;
  Smoothness smoothness = Smoothness::unseen;
};

struct LayerReading {
  std::string name;  ///< of the module: "conv1"
  std::int64_t parameters = 0;
  Signature signature;
};

/// What to train with, and why.
struct Suggestion {
  bool brake = false;  ///< false: AdamW will do; true: it with a cosine schedule, or this brake
  Directions directions = Directions::sphere;
  Statistic statistic = Statistic::residual;
  double radius = 0.01;
  double damping = 2;
  std::string reason;  ///< a sentence or two, with the numbers
};

struct ModelProbe {
  double loss = 0;
  double gradient_norm = 0;
  std::int64_t parameters = 0;
  double noise = 0;            ///< what rounding does to the loss, as measured
  double smallest_radius = 0;  ///< of `radii`: the first whose change is above the noise; 0 if none is
  Signature signature;         ///< of all parameters together
  std::vector<EstimatorReading> estimators;
  std::vector<RadiusReading> radii;
  std::vector<LayerReading> layers;
  Suggestion suggestion;
};

/// A report for people, at most 80 columns wide.
std::ostream& operator<<(std::ostream& out, const ModelProbe& found);

/// Probes the loss around the module's weights. `loss` returns the loss of one batch and does nothing else;
/// it is evaluated in the mode that the module is in, always with the same dropout masks.
///
///     auto found = sadam::probe_model(*model, [&] { return loss_fn(model->forward(x), y); });
///     std::cout << found;
///
/// Weights, buffers and torch's generators are as before, bit for bit; gradients are cleared. Throws `Error`
/// for a module without trainable parameters, a loss that is not one finite number, or options out of range.
ModelProbe probe_model(const torch::nn::Module& module, const torch::optim::Optimizer::LossClosure& loss,
                       const ProbeModelOptions& options = {});

/// The same for parameters by name ("conv1.weight"), whose layers are what comes before the last dot.
struct NamedParameter {
  std::string name;
  torch::Tensor tensor;
};
ModelProbe probe_model(const std::vector<NamedParameter>& parameters,
                       const std::vector<torch::Tensor>& buffers,
                       const torch::optim::Optimizer::LossClosure& loss,
                       const ProbeModelOptions& options = {});

}  // namespace sadam
