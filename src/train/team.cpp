#include "train/team.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>
#include <torch/cuda.h>

#include <cstdlib>
#include <utility>

#include "train/device.h"

namespace sadam::train {
namespace {

// What rank 0 says before anything else: a kind, and the bytes that follow.
enum Kind : std::int64_t { kNothing, kWork, kCalledOff };
using Head = std::vector<std::int64_t>;

// As tensors that share their memory.
at::Tensor tensor_of(const Head& head) {
  return at::from_blob(const_cast<std::int64_t*>(head.data()), {std::ssize(head)}, at::kLong);
}
at::Tensor tensor_of(std::span<const std::byte> bytes) {
  return at::from_blob(const_cast<std::byte*>(bytes.data()), {std::ssize(bytes)}, at::kByte);
}

c10::Device own_gpu(const RankOptions& options) {
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (count == 0)
    throw Error(
        "this sadam was built without Gloo, and no GPU answers, so processes cannot talk: leave out "
        "train.processes.");
  // NCCL takes two ranks on one GPU for a mistake, unless they seem to be on two machines.
  if (options.local_size() > count)
    ::setenv("NCCL_HOSTID", std::to_string(options.rank()).c_str(), /*overwrite=*/0);
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(options.local_rank() % count)};
}

}  // namespace

Team::Team(const RankOptions& options) : options_(options) {
  if (!has_gloo()) messages_ = own_gpu(options);
  group_ = has_gloo() ? make_gloo_group(options) : make_nccl_group(options, messages_);
}

c10::Device Team::place(const std::string& device) const {
  const auto named = device_named(device);
  return group_ && device == "cuda" ? own_gpu(options_) : named;
}

const std::shared_ptr<ProcessGroup>& Team::group_on(c10::Device device) {
  if (!group_ || device.type() == messages_.type()) return group_;
  if (!on_gpus_)
    on_gpus_ = make_nccl_group(RankOptions(options_).store_is_there(true).prefix(options_.prefix() + "/gpus"),
                               device);
  return on_gpus_;
}

int Team::rank() const { return group_ ? group_->rank() : 0; }
int Team::size() const { return group_ ? group_->size() : 1; }

bool Team::any(bool here) const { return sum({here ? 1.0 : 0.0}).front() > 0; }

std::vector<double> Team::sum(std::vector<double> numbers) const {
  if (!group_ || numbers.empty()) return numbers;
  const auto tensor = at::from_blob(numbers.data(), {std::ssize(numbers)}, at::kDouble);
  const auto sent = tensor.to(messages_);
  group_->sum({sent});
  if (!sent.is_same(tensor)) tensor.copy_(sent);
  return numbers;
}

std::vector<double> Team::of_leader(std::vector<double> numbers) const {
  if (!leads()) numbers.clear();
  numbers.resize(static_cast<std::size_t>(sum({static_cast<double>(numbers.size())}).front()));
  return sum(std::move(numbers));
}

void Team::share(const std::vector<at::Tensor>& tensors) const {
  if (group_ && !tensors.empty()) (on_gpus_ ? on_gpus_ : group_)->broadcast(tensors);
}

void Team::broadcast(const at::Tensor& tensor) const {
  if (tensor.numel() == 0) return;
  const auto sent = tensor.to(messages_);
  group_->broadcast({sent});
  if (!sent.is_same(tensor)) tensor.copy_(sent);
}

void Team::compare(std::uint32_t checksum, const std::string& what, const std::string& way_out) const {
  std::vector<double> all(static_cast<std::size_t>(size()));
  all[static_cast<std::size_t>(rank())] = checksum;
  all = sum(std::move(all));
  std::vector<std::size_t> others;
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) others.push_back(r);
  if (others.empty()) return;
  throw Error(fmt::format("{} {} {} {} than rank 0: {}.", others.size() == 1 ? "rank" : "ranks",
                          fmt::join(others, ", "), others.size() == 1 ? "has" : "have", what, way_out));
}

void Team::announce(const std::string& recipe, std::span<const std::byte> checkpoint) {
  is_announced_ = true;
  if (!group_) return;
  broadcast(tensor_of(Head{kWork, std::ssize(recipe), std::ssize(checkpoint)}));
  broadcast(tensor_of(std::as_bytes(std::span(recipe))));
  broadcast(tensor_of(checkpoint));
}

void Team::dismiss() {
  is_announced_ = true;
  if (group_) broadcast(tensor_of(Head{kNothing, 0, 0}));
}

void Team::call_off() noexcept {
  if (!group_ || is_announced_) return;
  try {
    broadcast(tensor_of(Head{kCalledOff, 0, 0}));
  } catch (const std::exception&) {
    // they hear of it all the same, when this process ends
  }
}

std::optional<Team::Work> Team::wait_for_work() const {
  Head head = {0, 0, 0};
  broadcast(tensor_of(head));
  if (head[0] == kNothing) return std::nullopt;
  if (head[0] == kCalledOff)
    throw Error(fmt::format("rank 0 of {} could not begin the run: look at what that process says.", size()));
  Work work;
  work.recipe.resize(static_cast<std::size_t>(head[1]));
  work.checkpoint.resize(static_cast<std::size_t>(head[2]));
  broadcast(tensor_of(std::as_bytes(std::span(work.recipe))));
  broadcast(tensor_of(work.checkpoint));
  return work;
}

}  // namespace sadam::train
