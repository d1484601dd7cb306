#include "train/training.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <sadam/adamw.h>
#include <sadam/averaged_weights.h>
#include <sadam/graphed_step.h>
#include <sadam/prox_sgd.h>
#include <sadam/s_adam.h>
#include <torch/nn/module.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/serialize/archive.h>

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/quantities.h"
#include "nn/classifier.h"
#include "step/option_names.h"
#include "train/chatter.h"
#include "train/feed.h"
#include "train/team.h"

namespace sadam::train {
namespace {

constexpr const char* kAverage = "average";  // in a checkpoint

template <class T>
T option_of(const InRecipe<T>& value, const char* name) {
  if constexpr (std::is_enum_v<T>)
    return value_named<T>(value, name);
  else
    return value;
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): a member cannot be put into parentheses
#define SADAM_TAKE(type, name, ...) options.name(option_of<type>(r.name, "optimizer." #name));

SAdamOptions s_adam_options(const OptimizerRecipe& r, std::int64_t seed) {
  SAdamOptions options;
  SADAM_LEARNING_RATE(SADAM_TAKE, 0)
  SADAM_ADAM_OPTIONS(SADAM_TAKE)
  SADAM_BRAKE_OPTIONS(SADAM_TAKE)
  SADAM_PROBE_OPTIONS(SADAM_TAKE)
  return options.seed(static_cast<std::uint64_t>(seed));
}

AdamWOptions adamw_options(const OptimizerRecipe& r, std::int64_t seed) {
  AdamWOptions options;
  SADAM_LEARNING_RATE(SADAM_TAKE, 0)
  SADAM_ADAM_OPTIONS(SADAM_TAKE)
  SADAM_BOUND_OPTIONS(SADAM_TAKE)
  SADAM_GRADIENT_OPTIONS(SADAM_TAKE)
  return options.seed(static_cast<std::uint64_t>(seed));
}

ProxSGDOptions prox_sgd_options(const OptimizerRecipe& r, std::int64_t seed) {
  ProxSGDOptions options;
  SADAM_LEARNING_RATE(SADAM_TAKE, 0)
  SADAM_PROX_OPTIONS(SADAM_TAKE)
  SADAM_GRADIENT_OPTIONS(SADAM_TAKE)
  return options.seed(static_cast<std::uint64_t>(seed));
}

// AdamW that takes a factor on its step: S-Adam with its probes switched off.
SAdamOptions braked_adamw_options(const OptimizerRecipe& r) {
  SAdamOptions options;
  SADAM_LEARNING_RATE(SADAM_TAKE, 0)
  SADAM_ADAM_OPTIONS(SADAM_TAKE)
  return options.bias_correction(value_named<BiasCorrection>(r.bias_correction, "optimizer.bias_correction"))
      .damping(0);
}

#undef SADAM_TAKE

std::unique_ptr<Optimizer> make_optimizer(const torch::nn::Module& module, const Recipe& recipe,
                                          bool braked) {
  const auto& r = recipe.optimizer;
  switch (optimizer_of(recipe)) {
    case OptimizerKind::prox_sgd:
      return std::make_unique<ProxSGD>(module, prox_sgd_options(r, recipe.seed));
    case OptimizerKind::adamw:
      if (braked) return std::make_unique<SAdam>(module, braked_adamw_options(r));
      return std::make_unique<AdamW>(module, adamw_options(r, recipe.seed));
    case OptimizerKind::sadam:
      if (braked) return std::make_unique<SAdam>(module, braked_adamw_options(r));
      return std::make_unique<SAdam>(module, s_adam_options(r, recipe.seed));
  }
  throw std::logic_error("an optimizer that train/recipe/recipe.h does not list");
}

bool is_on_gpu(const torch::nn::Module& module) { return module.parameters().front().is_cuda(); }

// A part of a checkpoint: an archive of its own.
template <class Part>
void save_part(torch::serialize::OutputArchive& archive, const char* name, const Part& part) {
  torch::serialize::OutputArchive inner;
  part.save(inner);
  archive.write(name, inner);
}

template <class Part>
void load_part(torch::serialize::InputArchive& archive, const char* name, Part& part) {
  torch::serialize::InputArchive inner;
  archive.read(name, inner);
  part.load(inner);
}

}  // namespace

Objective objective_of(nn::Classifier& network) {
  return {network.shared_from_this(),
          [&network](const TensorBatch& batch) { return cross_entropy(network.logits(batch[0]), batch[1]); },
          [&network](const TensorBatch& batch) {
            return TensorBatch{network.prepare(batch[0]), batch[1]};
          }};
}

Training::Training(Objective objective, const Recipe& recipe, std::vector<double> brakes)
    : objective_(std::move(objective)),
      brakes_(std::move(brakes)),
      braked_(!brakes_.empty() || control_of(recipe) != Control::none),
      clip_(recipe.train.clip),
      probe_images_(optimizer_of(recipe) == OptimizerKind::sadam && !braked_ ? recipe.train.probe_images
                                                                             : 0) {
  optimizer_ = make_optimizer(*objective_.module, recipe, braked_);
  if (recipe.watch.chatter > 0)
    chatter_ = std::make_unique<ChatterMeter>(objective_.module->parameters(), recipe.watch.chatter);
  if (recipe.average.decay > 0)
    average_ = std::make_unique<AveragedWeights>(*objective_.module, recipe.average.decay);
  // What is clipped or accumulated is no one graph.
  if (is_on_gpu(*objective_.module) && clip_ == 0 && recipe.train.accumulate == 1)
    graphed_ = std::make_unique<GraphedStep>(objective_.module, *optimizer_, objective_.loss, GraphOptions(),
                                             objective_.prepare);
  if (graphed_ && probe_images_ > 0)
    graphed_->probe_with([this](const TensorBatch& prepared) { return probe_loss(prepared); });
}

Training::~Training() = default;

void Training::step(const std::vector<TensorBatch>& batches, double lr) {
  for (auto& group : optimizer_->param_groups()) group.options().set_lr(lr);
  StepRequest request;
  request.brake = next_brake();
  if (graphed_ && request.brake) {
    (*graphed_)(batches.front(), *request.brake);
  } else if (graphed_) {
    (*graphed_)(batches.front());
  } else {
    std::vector<TensorBatch> prepared;
    request.examples = 0;
    for (const auto& batch : batches) {
      if (batch[1].size(0) == 0) continue;
      request.examples += batch[1].size(0);
      prepared.push_back(objective_.prepare ? objective_.prepare(batch) : batch);
    }
    request.parts = losses_of(prepared);
    if (prepared.empty()) request.parts = {[] { return at::Tensor(); }};  // a rank without images: not called
    if (probe_images_ > 0)
      request.probe_parts = {[this, first = prepared.front()] { return probe_loss(first); }};
    if (clip_ > 0) request.before_update = [this] { clip_gradients(); };
    optimizer_->step(request);
  }
  if (chatter_) chatter_->step();
}

void Training::update_average() {
  if (average_) average_->update();
}

std::shared_ptr<const void> Training::use_average() const {
  if (!average_ || average_->updates() == 0) return nullptr;
  return std::make_shared<AveragedWeights::Use>(average_->use());
}

std::vector<std::function<at::Tensor()>> Training::losses_of(const std::vector<TensorBatch>& prepared) const {
  double images = 0;
  for (const auto& batch : prepared) images += static_cast<double>(batch[1].size(0));
  std::vector<std::function<at::Tensor()>> losses;
  for (const auto& batch : prepared) {
    const double share = static_cast<double>(batch[1].size(0)) / images;
    losses.emplace_back([this, share, batch] {
      return share == 1 ? objective_.loss(batch) : objective_.loss(batch) * share;
    });
  }
  return losses;
}

at::Tensor Training::probe_loss(const TensorBatch& prepared) const {
  TensorBatch part;
  for (const auto& tensor : prepared)
    part.push_back(tensor.narrow(0, 0, std::min(probe_images_, tensor.size(0))));
  return objective_.loss(part);
}

std::optional<double> Training::next_brake() {
  if (!braked_) return std::nullopt;
  if (!braked_steps_) {
    const auto& totals = optimizer_->totals();
    braked_steps_ = static_cast<std::size_t>(totals.steps + totals.skipped);
  }
  return brakes_.at((*braked_steps_)++ % brakes_.size());
}

void Training::clip_gradients() const {
  std::vector<at::Tensor> parameters;
  for (const auto& group : optimizer_->param_groups())
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  torch::nn::utils::clip_grad_norm_(parameters, clip_);
}

std::string Training::way_of_stepping() const {
  if (!graphed_)
    return is_on_gpu(*objective_.module) ? "steps are taken eagerly, because the recipe clips or accumulates"
                                         : "";
  if (!graphed_->is_captured())
    return fmt::format("steps are taken eagerly, because {}", graphed_->why_not());
  const auto streams = graphed_->streams();
  if (streams == 0) return "a step is one CUDA graph";
  return fmt::format("a step is one CUDA graph, probes on {}",
                     base::counted(static_cast<std::uint64_t>(streams), "stream"));
}

void Training::save(torch::serialize::OutputArchive& archive) const {
  optimizer_->save(archive);
  if (braked_) archive.write("brakes", c10::IValue(brakes_));
  if (average_) save_part(archive, kAverage, *average_);
  if (chatter_) save_part(archive, "chatter", *chatter_);
}

void Training::load(torch::serialize::InputArchive& archive) {
  optimizer_->load(archive);
  braked_steps_.reset();
  c10::IValue brakes;
  if (braked_ && archive.try_read("brakes", brakes)) brakes_ = brakes.toDoubleVector();
  if (braked_ && brakes_.empty())
    throw Error("the checkpoint has no brakes and is of another run: start this one anew.");
  if (average_) load_part(archive, kAverage, *average_);
  if (chatter_) load_part(archive, "chatter", *chatter_);
}

void load_average(torch::serialize::InputArchive& of_training, const torch::nn::Module& module) {
  torch::serialize::InputArchive archive;
  if (!of_training.try_read(kAverage, archive)) return;
  AveragedWeights average(module);
  average.load(archive);
  if (average.updates() > 0) average.apply();
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels) {
  return at::cross_entropy_loss(logits.to(at::kDouble), labels);
}

namespace {

constexpr std::int64_t kTop = 5;

void add_details(Evaluation& evaluation, std::int64_t& in_top5, const at::Tensor& logits,
                 const at::Tensor& labels) {
  evaluation.classes.resize(static_cast<std::size_t>(logits.size(1)));
  const auto chosen = logits.argmax(1).cpu();
  const auto right = labels.cpu();
  for (std::int64_t i = 0; i < right.size(0); ++i) {
    const auto label = right.data_ptr<std::int64_t>()[i];
    auto& of_class = evaluation.classes.at(static_cast<std::size_t>(label));
    ++of_class.images;
    if (chosen.data_ptr<std::int64_t>()[i] == label) ++of_class.right;
  }
  if (logits.size(1) > kTop)
    in_top5 += std::get<1>(logits.topk(kTop, 1)).eq(labels.unsqueeze(1)).sum().item<std::int64_t>();
}

}  // namespace

std::optional<Evaluation> evaluate(nn::Classifier& classifier, Feed& feed, const EvaluationOptions& options) {
  const at::NoGradGuard no_grad;
  const bool was_training = classifier.is_training();
  classifier.eval();
  // Sums stay on the device, which is waited for at the end.
  const auto there = at::TensorOptions().device(classifier.parameters().front().device());
  auto loss = at::zeros({}, there.dtype(at::kDouble));
  auto right = at::zeros({}, there.dtype(at::kLong));
  std::int64_t images = 0;
  Evaluation result;
  std::int64_t in_top5 = 0;
  bool stopped = false;
  const Team alone;
  const auto& team = options.team != nullptr ? *options.team : alone;
  feed.start(0);
  for (std::int64_t batch = 0; !stopped; ++batch) {
    if (options.done) options.done(batch);
    const auto batches = feed.next();
    if (batches.empty()) break;
    const auto& labels = batches[0][1];
    if (labels.size(0) > 0) {
      const auto logits = classifier.logits(classifier.prepare(batches[0][0]));
      loss += cross_entropy(logits, labels) * static_cast<double>(labels.size(0));
      right += logits.argmax(1).eq(labels).sum();
      images += labels.size(0);
      if (options.in_detail) add_details(result, in_top5, logits, labels);
    }
    stopped = team.any(options.stop != nullptr && *options.stop);
  }
  classifier.train(was_training);
  if (stopped) return std::nullopt;
  const auto sums = team.sum(
      {loss.item<double>(), static_cast<double>(right.item<std::int64_t>()), static_cast<double>(images)});
  const double n = sums[2];
  result.loss = sums[0] / n;
  result.accuracy = sums[1] / n;
  result.images = static_cast<std::int64_t>(n);
  if (std::ssize(result.classes) > kTop) result.top5_accuracy = static_cast<double>(in_top5) / n;
  return result;
}

}  // namespace sadam::train
