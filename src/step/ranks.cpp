#include "step/ranks.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <sadam/error.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>

namespace sadam::step {
namespace {

at::TensorOptions doubles_on(at::Device device) {
  return at::TensorOptions().dtype(at::kDouble).device(device);
}

/// Every message begins with how many ranks have failed, and which, if it is one.
constexpr std::int64_t kFailed = 0;
constexpr std::int64_t kWhich = 1;
constexpr std::int64_t kHead = 2;

/// And so many numbers more.
at::Tensor head_of(std::int64_t numbers, at::Device device) {
  return at::zeros({kHead + numbers}, doubles_on(device));
}

// ---- what ranks compare -----------------------------------------------------------------------------------

/// 32 bits, so that a double holds it.
class Checksum {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; bytes >= 8; at += 8, bytes -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      add_word(word);
    }
    std::uint64_t rest = bytes;
    std::memcpy(reinterpret_cast<unsigned char*>(&rest) + 1, at, bytes < 8 ? bytes : 7);
    add_word(rest);
  }
  void add(double number) { add(&number, sizeof(number)); }
  void add(const at::Tensor& tensor) {
    const auto plain = tensor.detach().cpu().contiguous();
    if (plain.numel() > 0) add(plain.data_ptr(), plain.nbytes());
  }
  double value() const { return static_cast<double>((state_ ^ (state_ >> 32)) & 0xffffffff); }

 private:
  // One bit changes half of the state: an odd factor, then the upper half folded down.
  void add_word(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15;
    state_ ^= state_ >> 29;
  }
  std::uint64_t state_ = 1;
};

#define SADAM_ADD(type, name, ...) sum.add(static_cast<double>(of.name));
double checksum_of_rules(const Problem& problem, const GroupOptions& options) {
  Checksum sum;
  sum.add(static_cast<double>(options.split()));
  sum.add(static_cast<double>(options.check_ranks_every()));
  sum.add(static_cast<double>(options.bucket_bytes()));
  for (const auto& of : problem.rules) {
    SADAM_LEARNING_RATE(SADAM_ADD, 0)
    SADAM_ADAM_OPTIONS(SADAM_ADD)
    SADAM_BRAKE_OPTIONS(SADAM_ADD)
    SADAM_PROX_OPTIONS(SADAM_ADD)
    SADAM_BOUND_OPTIONS(SADAM_ADD)
  }
  {
    const auto& of = problem.gradient;
    SADAM_GRADIENT_OPTIONS(SADAM_ADD)
    SADAM_SEED_OPTION(SADAM_ADD)
  }
  if (problem.plan) {
    const auto& of = *problem.plan;
    SADAM_PROBE_OPTIONS(SADAM_ADD)
    SADAM_SEED_OPTION(SADAM_ADD)
  }
  return sum.value();
}
#undef SADAM_ADD

double checksum_of_shapes(const Items& items) {
  Checksum sum;
  for (const auto& item : items) {
    sum.add(static_cast<double>(item.group));
    sum.add(static_cast<double>(item.parameter.scalar_type()));
    for (const auto size : item.parameter.sizes()) sum.add(static_cast<double>(size));
  }
  return sum.value();
}

/// "rank 1 has", "ranks 1 and 3 have".
std::string have(const std::vector<std::int64_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text + (ranks.size() == 1 ? " has" : " have");
}

/// Where ranks share the probes, each takes the gradient of the whole batch by itself. A loss that is not
/// finite is no reason to stop: the step is skipped.
void check_same_loss(const at::Tensor& losses, at::ScalarType type) {
  const double rounding = c10::elementSize(type) < sizeof(float) ? 0.03 : 1e-4;
  constexpr double kNothing = 1e-6;
  const auto* const loss = losses.data_ptr<double>();
  std::vector<std::int64_t> others;
  for (std::int64_t r = 1; r < losses.numel(); ++r)
    if (std::abs(loss[r] - loss[0]) > rounding * std::abs(loss[0]) + kNothing) others.push_back(r);
  if (others.empty() || !losses.isfinite().all().item<bool>()) return;
  throw Error(
      have(others) +
      " another loss than rank 0, and ranks that share the probes must evaluate the same: give all of "
      "them the same batch, and seed torch alike where the network draws dropout masks.");
}

}  // namespace

void Ranks::join(std::shared_ptr<ProcessGroup> group, const GroupOptions& options) {
  if (options.check_ranks_every() < 0)
    throw Error("join: check_ranks_every must be 0 (in the first step only) or more.");
  if (options.bucket_bytes() < 1) throw Error("join: bucket_bytes must be at least 1.");
  group_ = std::move(group);
  options_ = options;
  ++joins_;
  compare_again();
}

void Ranks::exchange(const at::Tensor& head, const std::exception_ptr& failure, bool recorded,
                     GradientSums* sums, bool sends_zeros) const {
  if (failure) {
    head.narrow(0, kFailed, 1).fill_(1);
    head.narrow(0, kWhich, 1).fill_(group_->rank());
  }
  try {
    if (sums != nullptr) sums->send_rest(/*zeros=*/sends_zeros);
    const auto wait = group_->start_sum({head});
    if (sums != nullptr) sums->wait();
    wait();
  } catch (const std::exception&) {
    if (!failure) throw;  // else that came first
  }
  if (failure) std::rethrow_exception(failure);
  if (recorded) return;
  const auto said = head.narrow(0, 0, kHead).cpu();
  const auto count = static_cast<std::int64_t>(said[kFailed].item<double>());
  if (count == 0) return;
  const auto who = count == 1
                       ? "rank " + std::to_string(static_cast<std::int64_t>(said[kWhich].item<double>()))
                       : std::to_string(count) + " ranks";
  throw Error(who + " of " + std::to_string(group_->size()) +
              " failed in this step, so no rank takes it: look at what is thrown there.");
}

void Ranks::agree(const std::exception_ptr& failure, at::Device device) const {
  if (are_several()) exchange(head_of(0, device), failure);
}

void Ranks::watch_gradients(const Problem& problem, const Request& request) {
  if (!split_batch() || request.rehearsal) return;
  sums_ = std::make_unique<GradientSums>(*group_, problem.items, static_cast<double>(request.examples),
                                         options_.bucket_bytes());
  sums_->watch();
}

at::Tensor Ranks::average_gradients(const Problem& problem, const Request& request, const at::Tensor& loss,
                                    const std::exception_ptr& failure) {
  auto sums = std::exchange(sums_, nullptr);
  if (failure && (request.rehearsal || request.recorded)) std::rethrow_exception(failure);
  if (!are_several() || request.rehearsal) return loss;
  const at::NoGradGuard no_grad;
  const auto device = problem.parameters.front().device();
  if (split_probes()) {
    const auto head = head_of(group_->size(), device);
    const auto losses = head.narrow(0, kHead, group_->size());
    if (loss.defined()) losses[group_->rank()].copy_(loss.reshape({}));
    exchange(head, failure, request.recorded);
    if (!loss.defined()) return loss;
    if (!request.recorded && !are_losses_compared_) check_same_loss(losses.cpu(), loss.scalar_type());
    are_losses_compared_ = true;
    return loss + losses.sum().mul_(0).to(loss.scalar_type());  // not finite on one, so on all
  }

  // Weight, losses, their sum, who has a gradient. A rank that has failed or has no examples sends zeros, for
  // the others wait for as much as ever.
  const auto& items = problem.items;
  const double weight = failure ? 0 : static_cast<double>(request.examples);
  const auto head = head_of(3 + static_cast<std::int64_t>(items.size()), device);
  const auto numbers = head.narrow(0, kHead, head.numel() - kHead);
  if (weight > 0) {
    numbers[0].fill_(weight);
    if (loss.defined()) numbers[1].fill_(1), numbers[2].copy_(loss.reshape({})).mul_(weight);
    numbers.narrow(0, 3, numbers.numel() - 3).fill_(1);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!items[i].is_trained()) numbers[3 + static_cast<std::int64_t>(i)].fill_(0);
  }
  if (!sums) sums = std::make_unique<GradientSums>(*group_, items, weight, options_.bucket_bytes());
  exchange(head, failure, request.recorded, sums.get(), /*sends_zeros=*/weight == 0);

  at::Tensor found;
  if (!request.recorded) {
    found = numbers.cpu();
    if (found[0].item<double>() == 0)
      throw Error(request.caller +
                  ": no rank has an example: leave out a batch that is empty on all of them.");
  }
  const auto total = numbers[0];
  for (const auto& sum : sums->sums()) sum.div_(total);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& parameter = items[i].parameter;
    // In a graph all ranks use what this one uses.
    if (found.defined() ? found.data_ptr<double>()[3 + i] == 0 : !items[i].is_trained()) continue;
    if (!items[i].is_trained()) parameter.mutable_grad() = at::empty_like(parameter);
    parameter.mutable_grad().copy_(sums->sum_of(i));
  }
  if (found.defined() && found[1].item<double>() == 0) return loss;
  return numbers[2] / total;
}

at::Tensor Ranks::average_loss(const Request& request, const at::Tensor& loss, at::Device device) const {
  if (!split_batch() || !loss.defined()) return loss;
  const at::NoGradGuard no_grad;
  const auto head = head_of(2, device);
  head[kHead].fill_(1);
  head[kHead + 1].copy_(loss.reshape({}));
  head.mul_(static_cast<double>(request.examples));
  exchange(head, nullptr);
  return head[kHead + 1] / head[kHead];
}

void Ranks::share_probes(const Numbers& numbers, const Request& request, std::int64_t first,
                         std::int64_t count, bool with_base, const std::exception_ptr& failure) const {
  if (failure && (request.rehearsal || request.recorded)) std::rethrow_exception(failure);
  if (!are_several() || request.rehearsal) return;
  const at::NoGradGuard no_grad;
  const auto device = numbers.device();
  const auto losses = numbers.probed(first, count);
  if (split_probes()) {
    const auto slopes = numbers.slopes().narrow(0, first, count);
    const auto gathered = at::cat({head_of(0, device), losses, slopes});  // others' are 0 here
    exchange(gathered, failure, request.recorded);
    losses.copy_(gathered.narrow(0, kHead, count));
    slopes.copy_(gathered.narrow(0, kHead + count, count));
    return;
  }
  const auto head = head_of(2 + count, device);  // weight, f(w), probes
  if (request.examples > 0 && !failure) {
    head[kHead].fill_(1);
    if (with_base) head[kHead + 1].copy_(numbers.base());
    head.narrow(0, kHead + 2, count).copy_(losses);
    head.mul_(static_cast<double>(request.examples));
  }
  exchange(head, failure, request.recorded);
  const auto means = head / head[kHead];
  if (with_base) numbers.base().copy_(means[kHead + 1]);
  losses.copy_(means.narrow(0, kHead + 2, count));
}

void Ranks::compare(const Problem& problem, std::int64_t step, bool with_gradients) {
  if (!are_several()) return;
  if (split_probes() && problem.plan && !problem.plan->is_shared())
    throw Error(
        "with noise 'fresh' each probe draws masks of its own, one after the other, so ranks cannot share "
        "the probes: use 'shared', or split the batch.");
  const auto every = options_.check_ranks_every();
  auto& compared = compared_[with_gradients ? 1 : 0];
  if (compared == step || (compared >= 0 && (every == 0 || step % every != 0))) return;
  const at::NoGradGuard no_grad;
  Checksum weights;
  for (const auto& parameter : problem.parameters) weights.add(parameter);
  Checksum gradients;
  if (with_gradients)
    for (const auto& item : problem.items)
      if (item.is_trained()) gradients.add(item.gradient());
  struct Compared {
    double value;
    const char* what;
    const char* way_out;
  };
  const Compared all[] = {
      {checksum_of_shapes(problem.items), "other parameters", "build the same model on every rank"},
      {checksum_of_rules(problem, options_), "other options", "give every rank the same"},
      {static_cast<double>(step), "taken another number of steps", "load the same checkpoint on every rank"},
      {weights.value(), "other weights", "broadcast those of rank 0 before training"},
      {gradients.value(), "other gradients", "call average_gradients() after backward"}};
  const auto size = group_->size();
  const auto device = problem.parameters.front().device();
  const auto count = static_cast<std::int64_t>(std::size(all));
  auto table = at::zeros({size, count}, at::kDouble);
  for (std::int64_t i = 0; i < count; ++i)
    table.data_ptr<double>()[group_->rank() * count + i] = all[i].value;
  auto there = table.to(device);
  group_->sum({there});
  table = there.cpu();
  const auto* const found = table.data_ptr<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> others;
    for (std::int64_t r = 1; r < size; ++r)
      if (found[r * count + i] != found[i]) others.push_back(r);
    if (!others.empty())
      throw Error(have(others) + " " + all[i].what + " than rank 0: " + all[i].way_out + ".");
  }
  compared = step;
}

}  // namespace sadam::step
