#include "train/chatter.h"

#include <ATen/ATen.h>
#include <sadam/error.h>
#include <torch/serialize/archive.h>

#include <utility>

namespace sadam::train {

ChatterMeter::ChatterMeter(std::vector<at::Tensor> parameters, std::int64_t window)
    : parameters_(std::move(parameters)), window_(window) {
  last_ = flat();
  start_ = last_;
  sums_ = at::zeros({2}, last_.options().dtype(at::kDouble));
}

at::Tensor ChatterMeter::flat() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> pieces;
  for (const auto& parameter : parameters_) pieces.push_back(parameter.detach().reshape({-1}));
  return pieces.size() == 1 ? pieces.front().clone() : at::cat(pieces);
}

void ChatterMeter::step() {
  const at::NoGradGuard no_grad;
  const auto now = flat();
  const auto update = now - last_;
  const auto length = update.norm(2, at::kDouble);
  auto flips = at::zeros_like(length);
  if (update_.defined()) {
    // The signs, not the product, which may underflow.
    flips = (update.sign() * update_.sign() < 0).sum().to(at::kDouble);
    ++compared_;
  }
  sums_ += at::stack({length, flips});
  update_ = update;
  last_ = now;
  if (++steps_ < window_) return;
  const auto net = (now - start_).norm(2, at::kDouble);
  const auto possible = static_cast<double>(compared_ * now.numel());
  ended_.push_back(at::stack({net, sums_[0], sums_[1] / possible}));
  start_ = now;
  sums_ = at::zeros_like(sums_);
  steps_ = compared_ = 0;
}

std::vector<Chattering> ChatterMeter::take() {
  std::vector<Chattering> windows;
  if (ended_.empty()) return windows;
  const auto all = at::stack(ended_).cpu();
  ended_.clear();
  for (std::int64_t i = 0; i < all.size(0); ++i) {
    const auto value = [&](std::int64_t column) { return all[i][column].item<double>(); };
    const double path = value(1);
    windows.push_back({1 - value(0) / path, value(2)});
  }
  return windows;
}

void ChatterMeter::save(torch::serialize::OutputArchive& archive) const {
  archive.write("counts", c10::IValue(std::vector<std::int64_t>{window_, steps_, compared_}));
  archive.write("start", start_);
  archive.write("last", last_);
  archive.write("sums", sums_);
  if (update_.defined()) archive.write("update", update_);
}

void ChatterMeter::load(torch::serialize::InputArchive& archive) {
  c10::IValue counts;
  archive.read("counts", counts);
  const auto numbers = counts.toIntVector();
  window_ = numbers.at(0);
  steps_ = numbers.at(1);
  compared_ = numbers.at(2);
  // Into tensors of their own: torch would overwrite what a defined one shares with others.
  const auto read = [&](const char* name) {
    at::Tensor tensor;
    archive.try_read(name, tensor);
    return tensor;
  };
  start_ = read("start");
  last_ = read("last");
  sums_ = read("sums");
  update_ = read("update");
  if (!start_.defined() || !last_.defined() || !sums_.defined())
    throw Error("the checkpoint has no path to go on with and is of another run: start this one anew.");
}

}  // namespace sadam::train
