#include <sadam/probe_model.h>
#include <sadam/s_adam.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <sstream>

#include "step/generators.h"
#include "step/loss.h"
#include "step/option_names.h"

namespace sadam {
namespace {

using Closure = torch::optim::Optimizer::LossClosure;

constexpr std::int64_t kDraws = 8;                    // of an estimator, for its spread
constexpr std::int64_t kMostProbes = 65535 / kDraws;  // all draws are one step's probes
constexpr double kAboveNoise = 10;                    // for a change to count
constexpr double kSeen = 5;                           // for a residual to count
constexpr std::size_t kFitted = 4;                    // radii
constexpr std::size_t kLeastFitted = 3;
constexpr double kStepDamping = 4;      // what did best with the step probe (docs/learning-rates.md)
constexpr double kNearlyLinear = 0.05;  // share of the residual in what a step changes

/// Everything that an evaluation may change besides the gradients: it goes back there before each one.
class Rewind {
 public:
  Rewind(const std::vector<torch::Tensor>& buffers, at::Device device) : buffers_(buffers) {
    for (const auto& buffer : buffers_) copies_.push_back(buffer.clone());
    generators_.push_back(step::default_generator(at::kCPU));
    if (!device.is_cpu()) generators_.push_back(step::default_generator(device));
    for (const auto& generator : generators_) positions_.push_back(generator.position());
  }
  ~Rewind() { now(); }
  Rewind(const Rewind&) = delete;
  Rewind& operator=(const Rewind&) = delete;

  void now() const {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(copies_[i]);
    for (std::size_t i = 0; i < generators_.size(); ++i) generators_[i].set(positions_[i]);
  }

 private:
  std::vector<torch::Tensor> buffers_;
  std::vector<torch::Tensor> copies_;
  std::vector<step::GeneratorAccess> generators_;
  std::vector<at::Tensor> positions_;
};

/// D and s of some directions.
struct Draw {
  double loss = 0;
  double rounding = 0;  ///< of the type of the loss, relative
  std::vector<double> differences;
  std::vector<double> slopes;
};

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// f(w + δu) − f(w) − δ⟨g,u⟩ for each direction.
std::vector<double> residuals_of(const Draw& draw, double radius) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < draw.differences.size(); ++i)
    residuals.push_back(radius * (draw.differences[i] - draw.slopes[i]));
  return residuals;
}

class Prober {
 public:
  Prober(std::vector<NamedParameter> parameters, const std::vector<torch::Tensor>& buffers,
         const Closure& loss, const ProbeModelOptions& options)
      : parameters_(std::move(parameters)),
        buffers_(buffers),
        loss_(loss),
        options_(options),
        rewind_(buffers, parameters_.front().tensor.device()) {}
  ~Prober() { clear_gradients(); }
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  ModelProbe look();

 private:
  void clear_gradients() const {
    for (const auto& parameter : parameters_) parameter.tensor.mutable_grad().reset();
  }
  std::vector<torch::Tensor> tensors() const {
    std::vector<torch::Tensor> list;
    for (const auto& parameter : parameters_) list.push_back(parameter.tensor);
    return list;
  }
  /// Through the optimizer's own probe, which guards weights, masks and precision.
  Draw draw(const std::vector<torch::Tensor>& moved, Directions directions, double radius,
            std::int64_t probes) const;
  /// The same directions at every radius.
  std::vector<Draw> sweep(const std::vector<torch::Tensor>& moved) const;
  std::vector<RadiusReading> readings_of(const std::vector<Draw>& draws) const;
  Signature signature_of(const std::vector<Draw>& draws) const;
  double measured_noise() const;
  std::vector<EstimatorReading> estimators() const;
  std::vector<LayerReading> layers() const;
  Suggestion suggestion(const ModelProbe& found) const;

  std::vector<NamedParameter> parameters_;
  const std::vector<torch::Tensor>& buffers_;
  const Closure& loss_;
  const ProbeModelOptions& options_;
  Rewind rewind_;
  double noise_ = 0;
};

Draw Prober::draw(const std::vector<torch::Tensor>& moved, Directions directions, double radius,
                  std::int64_t probes) const {
  SAdam optimizer(moved, SAdamOptions(options_.lr)
                             .statistic(Statistic::residual)
                             .directions(directions)
                             .radius(radius)
                             .probes(probes)
                             .seed(options_.seed));
  optimizer.protect(buffers_);
  rewind_.now();
  clear_gradients();
  optimizer.begin();
  const torch::AutoGradMode with_gradients(true);
  const auto loss = loss_();
  step::check_loss(loss, "probe_model");
  if (!loss.requires_grad())
    throw Error(
        "probe_model: the loss does not depend on the parameters: return the loss of the model's output.");
  loss.backward();
  optimizer.probe(loss_, loss);
  const auto& summary = optimizer.summary();
  if (!std::isfinite(summary.loss))
    throw Error("probe_model: the loss is not finite at these weights: nothing can be said about it.");
  return {summary.loss, step::rounding_of(loss.scalar_type()), summary.differences, summary.slopes};
}

std::vector<Draw> Prober::sweep(const std::vector<torch::Tensor>& moved) const {
  std::vector<Draw> draws;
  for (const double radius : options_.radii)
    draws.push_back(draw(moved, Directions::sphere, radius, options_.probes));
  return draws;
}

std::vector<RadiusReading> Prober::readings_of(const std::vector<Draw>& draws) const {
  std::vector<RadiusReading> readings;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    auto& found = readings.emplace_back();
    found.radius = options_.radii[i];
    found.change = found.radius * root_mean_square(draws[i].differences);
    found.residual = root_mean_square(residuals_of(draws[i], found.radius));
    found.above_noise = found.change > 0 && found.change >= kAboveNoise * noise_;
  }
  return readings;
}

/// Moves every weight by about as much as it is rounded, where curvature does nothing yet: what the gradient
/// does not foretell is then rounding inside the network. The median, since jumps may lie on the way.
double Prober::measured_noise() const {
  double squared = 0;
  double rounding = 0;
  for (const auto& parameter : parameters_) {
    const double length = parameter.tensor.detach().norm().item<double>();
    squared += length * length;
    rounding = std::max(rounding, step::rounding_of(parameter.tensor.scalar_type()));
  }
  const double radius = 2 * rounding * std::max(std::sqrt(squared), 1e-3);
  const auto seen = draw(tensors(), Directions::sphere, radius, options_.probes);
  auto residuals = residuals_of(seen, radius);
  for (double& residual : residuals) residual = std::abs(residual);
  std::nth_element(residuals.begin(), residuals.begin() + static_cast<std::ptrdiff_t>(residuals.size() / 2),
                   residuals.end());
  // The loss itself is rounded as well; and what is a thousand times that is a jump, and no rounding.
  const double size = std::abs(seen.loss);
  const double least = size * seen.rounding;
  return std::clamp(residuals[residuals.size() / 2], least, std::max(least, size * 1000 * rounding));
}

/// The slope of y over x by least squares.
double slope_of(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double both = 0;
  double square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean_x) * (y[i] - mean_y);
    square += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return both / square;
}

Smoothness smoothness_of(double power) {
  if (power < 0.75 || power > 2.3) return Smoothness::jumps;
  return power < 1.75 ? Smoothness::kinks : Smoothness::smooth;
}

Signature Prober::signature_of(const std::vector<Draw>& draws) const {
  std::vector<double> x;
  std::vector<std::vector<double>> residuals;
  for (std::size_t i = 0; i < draws.size() && x.size() < kFitted; ++i) {
    auto here = residuals_of(draws[i], options_.radii[i]);
    const double size = root_mean_square(here);
    if (!(size > 0) || size < kSeen * noise_ || !std::isfinite(size)) continue;
    x.push_back(std::log(options_.radii[i]));
    residuals.push_back(std::move(here));
  }
  Signature found;
  if (x.size() < kLeastFitted) return found;
  const auto power_without = [&](std::optional<std::size_t> left_out) {
    std::vector<double> y;
    for (auto here : residuals) {
      if (left_out) here.erase(here.begin() + static_cast<std::ptrdiff_t>(*left_out));
      y.push_back(std::log(std::max(root_mean_square(here), std::numeric_limits<double>::min())));
    }
    return slope_of(x, y);
  };
  found.power = power_without(std::nullopt);
  const auto directions = residuals.front().size();
  double squares = 0;
  for (std::size_t i = 0; i < directions; ++i) {
    const double difference = power_without(i) - found.power;
    squares += difference * difference;
  }
  found.error = std::sqrt(squares * static_cast<double>(directions - 1) / static_cast<double>(directions));
  found.from = std::exp(x.front());
  found.to = std::exp(x.back());
  found.smoothness = smoothness_of(found.power);
  return found;
}

std::vector<EstimatorReading> Prober::estimators() const {
  std::vector<EstimatorReading> readings;
  const auto k = static_cast<std::size_t>(options_.probes);
  const double eps = SAdamOptions().lgi_eps();
  for (const auto& directions : names_of(Directions{})) {
    if (directions.value == Directions::step) {
      const auto seen = draw(tensors(), Directions::step, options_.radius, 1);
      readings.push_back({Directions::step, Statistic::residual,
                          step_lgi(seen.differences.front(), seen.slopes.front()), 0, 1});
      continue;
    }
    const auto seen = draw(tensors(), directions.value, options_.radius, kDraws * options_.probes);
    for (const auto& statistic : names_of(Statistic{})) {
      std::vector<double> values;
      for (std::size_t first = 0; first < seen.differences.size(); first += k) {
        const auto part = [&](const std::vector<double>& all) {
          const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
          return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(k));
        };
        values.push_back(lgi(statistic.value, part(seen.differences), part(seen.slopes), eps));
      }
      const double mean =
          std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
      double squares = 0;
      for (const double value : values) squares += (value - mean) * (value - mean);
      readings.push_back({directions.value, statistic.value, mean,
                          std::sqrt(squares / static_cast<double>(values.size() - 1)), options_.probes});
    }
  }
  return readings;
}

std::vector<LayerReading> Prober::layers() const {
  std::vector<std::string> order;
  std::map<std::string, std::vector<torch::Tensor>> of_layer;
  for (const auto& parameter : parameters_) {
    const auto dot = parameter.name.rfind('.');
    const auto layer = dot == std::string::npos ? parameter.name : parameter.name.substr(0, dot);
    auto& list = of_layer[layer];
    if (list.empty()) order.push_back(layer);
    list.push_back(parameter.tensor);
  }
  std::vector<LayerReading> readings;
  for (const auto& name : order) {
    auto& reading = readings.emplace_back();
    reading.name = name;
    for (const auto& tensor : of_layer[name]) reading.parameters += tensor.numel();
    reading.signature = signature_of(sweep(of_layer[name]));
  }
  return readings;
}

Suggestion Prober::suggestion(const ModelProbe& found) const {
  const auto along_step = std::find_if(found.estimators.begin(), found.estimators.end(),
                                       [](const auto& each) { return each.directions == Directions::step; });
  Suggestion advice;
  advice.radius = found.smallest_radius > options_.radius ? found.smallest_radius : options_.radius;
  std::ostringstream reason;
  reason << std::setprecision(2);
  if (found.gradient_norm == 0) {
    reason << "The gradient is 0, so no gradient method moves from here: look at the loss or the weights.";
  } else if (along_step->lgi < kNearlyLinear) {
    reason << "Along Adam's step with lr " << options_.lr << " the gradient foretells all but "
           << 100 * along_step->lgi << " % of what the loss does: there is nothing to brake for. Use AdamW.";
  } else {
    advice.brake = true;
    advice.directions = Directions::step;
    advice.damping = kStepDamping;
    reason << "Along Adam's step with lr " << options_.lr << ", " << 100 * along_step->lgi
           << " % of what the loss does is not foretold by the gradient. A cosine schedule costs nothing; "
              "one probe along the step shortens steps that go wrong.";
  }
  if (found.smallest_radius == 0)
    reason << " Random probes see nothing but rounding at any of these radii.";
  else if (found.smallest_radius > options_.radius)
    reason << " Random probes of radius " << options_.radius << " see rounding; from "
           << found.smallest_radius << " on they see the loss.";
  advice.reason = reason.str();
  return advice;
}

ModelProbe Prober::look() {
  ModelProbe found;
  noise_ = measured_noise();
  found.noise = noise_;
  for (const auto& parameter : parameters_) found.parameters += parameter.tensor.numel();
  const auto draws = sweep(tensors());
  found.radii = readings_of(draws);
  double squared = 0;
  for (const auto& parameter : parameters_) {
    if (!parameter.tensor.grad().defined()) continue;
    const double length = parameter.tensor.grad().norm().item<double>();
    squared += length * length;
  }
  found.gradient_norm = std::sqrt(squared);
  found.loss = draw(tensors(), Directions::sphere, options_.radius, 1).loss;
  for (const auto& each : found.radii)
    if (each.above_noise && found.smallest_radius == 0) found.smallest_radius = each.radius;
  found.signature = signature_of(draws);
  found.estimators = estimators();
  if (options_.layers) found.layers = layers();
  found.suggestion = suggestion(found);
  return found;
}

void check(const ProbeModelOptions& options) {
  if (options.probes < 2 || options.probes > kMostProbes)
    throw Error("probe_model: probes must be between 2 and " + std::to_string(kMostProbes) + ".");
  if (!(options.radius > 0) || !std::isfinite(options.radius))
    throw Error("probe_model: radius must be above 0 and finite.");
  if (!(options.lr > 0) || !std::isfinite(options.lr))
    throw Error("probe_model: lr must be above 0 and finite.");
  if (options.radii.empty()) throw Error("probe_model: radii is empty: give at least one.");
  double last = 0;
  for (const double radius : options.radii) {
    if (!(radius > last) || !std::isfinite(radius))
      throw Error("probe_model: radii must be above 0, finite and ascending.");
    last = radius;
  }
}

}  // namespace

std::string to_string(Smoothness smoothness) {
  switch (smoothness) {
    case Smoothness::smooth:
      return "smooth";
    case Smoothness::kinks:
      return "kinks";
    case Smoothness::jumps:
      return "jumps";
    case Smoothness::unseen:
      return "unseen";
  }
  return "unknown";
}

ModelProbe probe_model(const std::vector<NamedParameter>& parameters,
                       const std::vector<torch::Tensor>& buffers, const Closure& loss,
                       const ProbeModelOptions& options) {
  check(options);
  if (!loss) throw Error("probe_model: there is no loss function: pass one that returns the loss.");
  std::vector<NamedParameter> trainable;
  for (const auto& parameter : parameters) {
    const auto is_it = [&](const NamedParameter& known) { return known.tensor.is_same(parameter.tensor); };
    if (parameter.tensor.requires_grad() && std::none_of(trainable.begin(), trainable.end(), is_it))
      trainable.push_back(parameter);  // tied weights once
  }
  if (trainable.empty())
    throw Error("probe_model: the model has no trainable parameters, so there is nowhere to probe.");
  return Prober(std::move(trainable), buffers, loss, options).look();
}

ModelProbe probe_model(const torch::nn::Module& module, const Closure& loss,
                       const ProbeModelOptions& options) {
  std::vector<NamedParameter> parameters;
  for (const auto& entry : module.named_parameters()) parameters.push_back({entry.key(), entry.value()});
  return probe_model(parameters, module.buffers(), loss, options);
}

// ---- the report -------------------------------------------------------------------------------------------

namespace {

std::string short_number(double value) {
  std::ostringstream text;
  text << std::setprecision(3) << value;
  return text.str();
}

/// The sentence in lines of at most 80 columns. ASCII only.
void wrap(std::ostream& out, const std::string& sentence) {
  std::istringstream words(sentence);
  std::size_t column = 0;
  for (std::string word; words >> word; column += word.size() + 1) {
    if (column > 0 && column + word.size() > 80) {
      out << '\n';
      column = 0;
    } else if (column > 0) {
      out << ' ';
    }
    out << word;
  }
  out << '\n';
}

std::ostream& operator<<(std::ostream& out, const Signature& signature) {
  if (signature.smoothness == Smoothness::unseen)
    return out << "unseen: fewer than 3 radii have a residual above rounding";
  out << "power " << std::fixed << std::setprecision(2) << signature.power << " ± " << signature.error
      << std::defaultfloat << " at " << short_number(signature.from) << " to " << short_number(signature.to)
      << ": " << to_string(signature.smoothness);
  // What it may be as well, within two standard errors.
  std::string others;
  for (const double power : {signature.power - 2 * signature.error, signature.power + 2 * signature.error}) {
    const auto other = to_string(smoothness_of(power));
    if (other != to_string(signature.smoothness) && others.find(other) == std::string::npos)
      others += " or " + other;
  }
  return out << others;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ModelProbe& found) {
  const auto flags = out.flags();
  const auto precision = out.precision();
  out << "loss " << std::setprecision(6) << found.loss << ", gradient " << short_number(found.gradient_norm)
      << ", " << found.parameters << " parameters, rounding of the loss " << short_number(found.noise)
      << "\n\nHow the loss changes at a distance from the weights\n"
      << "   radius      change    residual\n";
  for (const auto& each : found.radii)
    out << std::setw(9) << short_number(each.radius) << std::setw(12) << short_number(each.change)
        << std::setw(12) << short_number(each.residual) << (each.above_noise ? "" : "   rounding") << '\n';
  out << "The residual is what the gradient does not foretell. Its signature:\n  " << found.signature
      << "\n\nInstability (LGI) by estimator\n"
      << "  directions   statistic             LGI   spread   forward passes\n";
  for (const auto& each : found.estimators)
    out << "  " << std::left << std::setw(13) << to_string(each.directions) << std::setw(18)
        << to_string(each.statistic) << std::right << std::fixed << std::setprecision(4) << std::setw(7)
        << each.lgi << std::setw(9) << each.deviation << std::defaultfloat << std::setw(17) << each.forwards
        << '\n';
  if (!found.layers.empty()) {
    constexpr std::size_t kWidest = 20;
    const auto shown = [](const std::string& name) {  // its end tells layers apart
      return name.size() <= kWidest ? name : ".." + name.substr(name.size() - kWidest + 2);
    };
    std::size_t widest = 5;
    for (const auto& layer : found.layers) widest = std::max(widest, shown(layer.name).size());
    out << "\nLayer by layer\n";
    for (const auto& layer : found.layers)
      out << "  " << std::left << std::setw(static_cast<int>(widest)) << shown(layer.name) << std::right
          << "  " << layer.signature << '\n';
  }
  out << "\nSuggested: ";
  if (found.suggestion.brake)
    out << "AdamW with a cosine schedule\n"
        << "       or: SAdam with directions " << to_string(found.suggestion.directions) << ", statistic "
        << to_string(found.suggestion.statistic) << ", damping " << found.suggestion.damping << '\n';
  else
    out << "AdamW\n";
  wrap(out, found.suggestion.reason);
  out.flags(flags);
  out.precision(precision);
  return out;
}

}  // namespace sadam
