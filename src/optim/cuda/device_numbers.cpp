#include "device_numbers.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <limits>
#include <utility>

namespace sadam::optim::cuda {
namespace {

using kernels::cuda::GroupRule;
using kernels::cuda::ParameterNumbers;
using kernels::cuda::StepNumbers;

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

bool same_rules(const std::vector<GroupRule>& a, const std::vector<GroupRule>& b) {
  if (a.size() != b.size()) return false;
  const auto same = [](const GroupRule& x, const GroupRule& y) {
    return x.adam.lr == y.adam.lr && x.adam.beta1 == y.adam.beta1 && x.adam.beta2 == y.adam.beta2 &&
           x.adam.eps == y.adam.eps && x.adam.weight_decay == y.adam.weight_decay &&
           x.adam.bias_correction == y.adam.bias_correction &&
           x.adam.damp_weight_decay == y.adam.damp_weight_decay && x.damping == y.damping &&
           x.given_brake == y.given_brake && x.momentum == y.momentum && x.l1 == y.l1 && x.brake == y.brake;
  };
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}

StepSummary summary_of(const double* record, const NumbersShape& shape) {
  using namespace kernels::cuda;
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

DeviceNumbers::DeviceNumbers(at::Device device, NumbersShape shape, const Totals& totals,
                             const std::vector<double>& last_lgi)
    : device_(device), shape_(shape) {
  StepNumbers numbers;
  numbers.steps = totals.steps;
  numbers.skipped = totals.skipped;
  numbers.non_finite_probes = totals.non_finite_probes;
  numbers_ = uploaded<StepNumbers>({numbers}, device);
  auto lgi = last_lgi;
  lgi.resize(static_cast<std::size_t>(shape.groups), 0);
  last_lgi_ = uploaded(lgi, device);
  rules_ = uploaded(std::vector<GroupRule>(static_cast<std::size_t>(shape.groups)), device);
  const auto numbers_of_double = at::TensorOptions().dtype(at::kDouble).device(device);
  losses_ = at::zeros({2 + shape.probes}, numbers_of_double);
  slopes_ = at::zeros({shape.probes}, numbers_of_double);
  records_ = at::zeros({kRing * state().record_size()}, numbers_of_double);
}

void DeviceNumbers::set_parameters(const std::vector<ParameterEntry>& entries) {
  std::vector<ParameterNumbers> numbers;
  numbers.reserve(entries.size());
  for (const auto& entry : entries)
    numbers.push_back({entry.t, entry.group, entry.trained ? 1 : 0, kernels::AdamCoefficients()});
  parameters_ = uploaded(numbers, device_);
  parameter_count_ = static_cast<std::int64_t>(numbers.size());
}

void DeviceNumbers::set_rules(const std::vector<GroupRule>& rules) {
  if (same_rules(rules, rules_set_)) return;
  kernels::cuda::set_rules(
      {address<GroupRule>(rules_), rules, at::cuda::getCurrentCUDAStream(device_.index()).stream()});
  rules_set_ = rules;
}

kernels::cuda::StepState DeviceNumbers::state() const {
  kernels::cuda::StepState state;
  state.numbers = address<StepNumbers>(numbers_);
  state.rules = address<GroupRule>(rules_);
  state.last_lgi = address<double>(last_lgi_);
  state.groups = shape_.groups;
  state.parameters = parameters_.defined() ? address<ParameterNumbers>(parameters_) : nullptr;
  state.parameter_count = parameter_count_;
  state.loss = address<double>(losses_);
  state.base = state.loss + 1;
  state.probed = state.loss + 2;
  state.slopes = shape_.probes > 0 ? address<double>(slopes_) : nullptr;
  state.records = records_.defined() ? address<double>(records_) : nullptr;
  state.ring = kRing;
  state.probes = shape_.probes;
  return state;
}

const std::int64_t* DeviceNumbers::steps() const { return &address<StepNumbers>(numbers_)->steps; }
std::int64_t* DeviceNumbers::non_finite_gradient() const {
  return &address<StepNumbers>(numbers_)->non_finite_gradient;
}
const std::int64_t* DeviceNumbers::skip() const { return &address<StepNumbers>(numbers_)->skip; }
bool DeviceNumbers::is_skipped() const {
  return at::from_blob(const_cast<std::int64_t*>(skip()), {},
                       at::TensorOptions().dtype(at::kLong).device(device()))
             .item<std::int64_t>() != 0;
}
const kernels::AdamCoefficients* DeviceNumbers::coefficients(std::size_t parameter) const {
  return &address<ParameterNumbers>(parameters_)[parameter].coefficients;
}
const GroupRule* DeviceNumbers::rule(std::int64_t group) const { return address<GroupRule>(rules_) + group; }
double* DeviceNumbers::slope(std::int64_t probe) const { return address<double>(slopes_) + probe; }

StepNumbers DeviceNumbers::counts() const { return downloaded<StepNumbers>(numbers_).front(); }

std::vector<std::int64_t> DeviceNumbers::updates() const {
  std::vector<std::int64_t> updates;
  for (const auto& entry : downloaded<ParameterNumbers>(parameters_)) updates.push_back(entry.t);
  return updates;
}

void DeviceNumbers::set_last_lgi(double lgi) { last_lgi_.view(at::kDouble).fill_(lgi); }

std::vector<double> DeviceNumbers::losses() const { return downloaded<double>(losses_); }
std::vector<double> DeviceNumbers::slopes() const { return downloaded<double>(slopes_); }

std::vector<double> DeviceNumbers::last_lgi() const { return downloaded<double>(last_lgi_); }

std::vector<StepSummary> DeviceNumbers::summaries(std::int64_t first, std::int64_t end) const {
  std::vector<StepSummary> summaries;
  first = std::max(first, end - kRing);
  if (first >= end) return summaries;
  const auto size = state().record_size();
  const auto fetch = [&](std::int64_t from, std::int64_t to) {  // records [from, to) of the ring
    const auto records = downloaded<double>(records_.narrow(0, from * size, (to - from) * size));
    for (std::int64_t i = 0; i < to - from; ++i)
      summaries.push_back(summary_of(records.data() + i * size, shape_));
  };
  const auto from = first % kRing;
  const auto length = end - first;
  fetch(from, std::min(from + length, kRing));
  if (from + length > kRing) fetch(0, from + length - kRing);
  return summaries;
}

}  // namespace sadam::optim::cuda
