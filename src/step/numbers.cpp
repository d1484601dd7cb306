#include "step/numbers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

#include "step/backend.h"
#include "step/options.h"

namespace sadam::step {
namespace {

using kernels::GroupRule;
using kernels::ParameterNumbers;
using kernels::StepNumbers;

template <class T>
at::Tensor uploaded(const std::vector<T>& values, at::Device device) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
  auto copy = at::empty({bytes}, at::kByte);
  if (bytes > 0) std::memcpy(copy.data_ptr(), values.data(), static_cast<std::size_t>(bytes));
  return copy.to(device);
}

template <class T>
std::vector<T> downloaded(const at::Tensor& tensor) {
  const auto on_host = tensor.cpu();
  std::vector<T> values(on_host.nbytes() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), on_host.data_ptr(), values.size() * sizeof(T));
  return values;
}

template <class T>
T* address(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

StepSummary summary_of(const double* record, const NumbersShape& shape) {
  using namespace kernels;
  StepSummary summary;
  summary.step = static_cast<std::int64_t>(record[kRecordStep]);
  summary.loss = record[kRecordLoss];
  const auto probes = static_cast<std::int64_t>(record[kRecordProbed]);
  summary.probed = probes > 0;
  summary.within_noise = record[kRecordWithinNoise] != 0;
  summary.skipped = record[kRecordSkipped] != 0;
  summary.non_finite_loss = static_cast<std::int64_t>(record[kRecordNonFiniteLoss]);
  summary.non_finite_gradient = static_cast<std::int64_t>(record[kRecordNonFiniteGradient]);
  summary.non_finite_probes = static_cast<std::int64_t>(record[kRecordNonFiniteProbes]);
  summary.probe_seconds = record[kRecordProbeSeconds];
  const double* at = record + kRecordHead;
  summary.differences.assign(at, at + probes);
  at += shape.probes;
  if (shape.slopes) summary.slopes.assign(at, at + probes);
  at += shape.probes;
  summary.group_lgi.assign(at, at + shape.groups);
  at += shape.groups;
  summary.group_brakes.assign(at, at + shape.groups);
  if (shape.groups > 0) {
    summary.lgi = summary.group_lgi.back();
    summary.brake = summary.group_brakes.back();
  }
  return summary;
}

}  // namespace

Numbers::Numbers(at::Device device, NumbersShape shape, const Totals& totals,
                 std::vector<kernels::GroupMemory> memory)
    : device_(device), shape_(shape) {
  StepNumbers numbers;
  numbers.steps = totals.steps;
  numbers.skipped = totals.skipped;
  numbers.non_finite_probes = totals.non_finite_probes;
  numbers_ = uploaded<StepNumbers>({numbers}, device);
  memory.resize(static_cast<std::size_t>(shape.groups));
  memory_ = uploaded(memory, device);
  rules_ = uploaded(std::vector<GroupRule>(static_cast<std::size_t>(shape.groups)), device);
  const auto numbers_of_double = at::TensorOptions().dtype(at::kDouble).device(device);
  losses_ = at::zeros({2 + shape.probes}, numbers_of_double);
  slopes_ = at::zeros({shape.probes}, numbers_of_double);
  constexpr std::int64_t kMost = 1 << 19;  // numbers, 4 MiB
  ring_ = std::clamp<std::int64_t>(kMost / state().record_size(), 128, kRing);
  records_ = at::zeros({ring_ * state().record_size()}, numbers_of_double);
}

void Numbers::set_items(const Items& items) {
  std::vector<ParameterNumbers> numbers;
  numbers.reserve(items.size());
  for (const auto& item : items)
    numbers.push_back({item.t, item.group, item.is_trained() ? 1 : 0, kernels::AdamCoefficients()});
  items_ = uploaded(numbers, device_);
  item_count_ = static_cast<std::int64_t>(numbers.size());
}

void Numbers::set_rules(const std::vector<GroupRule>& rules, const Backend& backend) {
  if (std::equal(rules.begin(), rules.end(), rules_set_.begin(), rules_set_.end(), is_same_rule)) return;
  backend.kernels().set_rules({address<GroupRule>(rules_), rules, backend.place()});
  rules_set_ = rules;
}

kernels::StepState Numbers::state() const {
  kernels::StepState state;
  state.numbers = address<StepNumbers>(numbers_);
  state.rules = address<GroupRule>(rules_);
  state.memory = address<kernels::GroupMemory>(memory_);
  state.groups = shape_.groups;
  state.parameters = items_.defined() ? address<ParameterNumbers>(items_) : nullptr;
  state.parameter_count = item_count_;
  state.loss = address<double>(losses_);
  state.base = state.loss + 1;
  state.probed = state.loss + 2;
  state.slopes = shape_.probes > 0 ? address<double>(slopes_) : nullptr;
  state.records = records_.defined() ? address<double>(records_) : nullptr;
  state.ring = ring_;
  state.probes = shape_.probes;
  return state;
}

const std::int64_t* Numbers::steps() const { return &address<StepNumbers>(numbers_)->steps; }
std::int64_t* Numbers::non_finite_gradient() const {
  return &address<StepNumbers>(numbers_)->non_finite_gradient;
}
const std::int64_t* Numbers::skip() const { return &address<StepNumbers>(numbers_)->skip; }
const kernels::AdamCoefficients* Numbers::coefficients(std::size_t item) const {
  return &address<ParameterNumbers>(items_)[item].coefficients;
}
const GroupRule* Numbers::rule(std::int64_t group) const { return address<GroupRule>(rules_) + group; }
double* Numbers::slope(std::int64_t probe) const { return address<double>(slopes_) + probe; }

bool Numbers::is_skipped() const { return counts().skip != 0; }
StepNumbers Numbers::counts() const { return downloaded<StepNumbers>(numbers_).front(); }

std::vector<std::int64_t> Numbers::updates() const {
  std::vector<std::int64_t> updates;
  for (const auto& entry : downloaded<ParameterNumbers>(items_)) updates.push_back(entry.t);
  return updates;
}

std::vector<kernels::GroupMemory> Numbers::memory() const {
  return downloaded<kernels::GroupMemory>(memory_);
}

std::vector<StepSummary> Numbers::summaries(std::int64_t first, std::int64_t end) const {
  std::vector<StepSummary> summaries;
  first = std::max(first, end - ring_);
  if (first >= end) return summaries;
  const auto size = state().record_size();
  const auto fetch = [&](std::int64_t from, std::int64_t to) {  // records [from, to) of the ring
    const auto records = downloaded<double>(records_.narrow(0, from * size, (to - from) * size));
    for (std::int64_t i = 0; i < to - from; ++i)
      summaries.push_back(summary_of(records.data() + i * size, shape_));
  };
  const auto from = first % ring_;
  const auto length = end - first;
  fetch(from, std::min(from + length, ring_));
  if (from + length > ring_) fetch(0, from + length - ring_);
  return summaries;
}

}  // namespace sadam::step
