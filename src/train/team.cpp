#include "train/team.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>
#include <sadam/process_group.h>

#include <algorithm>
#include <utility>

namespace sadam::train {
namespace {

// What rank 0 says before anything else: a kind, and the bytes that follow.
enum Kind : std::int64_t { kNothing, kWork, kCalledOff };
using Head = std::vector<std::int64_t>;

void broadcast(ProcessGroup& group, Head& head) {
  const auto tensor = at::empty({static_cast<std::int64_t>(head.size())}, at::kLong);
  auto* const numbers = tensor.data_ptr<std::int64_t>();
  std::copy(head.begin(), head.end(), numbers);
  group.broadcast({tensor});
  std::copy(numbers, numbers + head.size(), head.begin());
}

// As a tensor that shares their memory; none for no bytes.
std::vector<at::Tensor> bytes_of(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  return {at::from_blob(const_cast<std::byte*>(bytes.data()), {std::ssize(bytes)}, at::kByte)};
}

}  // namespace

int Team::rank() const { return group_ ? group_->rank() : 0; }
int Team::size() const { return group_ ? group_->size() : 1; }

bool Team::any(bool here) const { return sum({here ? 1.0 : 0.0}).front() > 0; }

std::vector<double> Team::sum(std::vector<double> numbers) const {
  if (!group_ || numbers.empty()) return numbers;
  const auto tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kDouble);
  auto* const sums = tensor.data_ptr<double>();
  std::copy(numbers.begin(), numbers.end(), sums);
  group_->sum({tensor});
  std::copy(sums, sums + numbers.size(), numbers.begin());
  return numbers;
}

std::vector<double> Team::of_leader(std::vector<double> numbers) const {
  if (!leads()) numbers.clear();
  numbers.resize(static_cast<std::size_t>(sum({static_cast<double>(numbers.size())}).front()));
  return sum(std::move(numbers));
}

void Team::share(const std::vector<at::Tensor>& tensors) const {
  if (group_ && !tensors.empty()) group_->broadcast(tensors);
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
  Head head = {kWork, std::ssize(recipe), std::ssize(checkpoint)};
  broadcast(*group_, head);
  group_->broadcast(bytes_of(std::as_bytes(std::span(recipe))));
  group_->broadcast(bytes_of(checkpoint));
}

void Team::dismiss() {
  is_announced_ = true;
  if (!group_) return;
  Head head = {kNothing, 0, 0};
  broadcast(*group_, head);
}

void Team::call_off() noexcept {
  if (!group_ || is_announced_) return;
  try {
    Head head = {kCalledOff, 0, 0};
    broadcast(*group_, head);
  } catch (const std::exception&) {
    // they hear of it all the same, when this process ends
  }
}

std::optional<Team::Work> Team::wait_for_work() const {
  Head head = {0, 0, 0};
  broadcast(*group_, head);
  if (head[0] == kNothing) return std::nullopt;
  if (head[0] == kCalledOff)
    throw Error(fmt::format("rank 0 of {} could not begin the run: look at what that process says.", size()));
  Work work;
  work.recipe.resize(static_cast<std::size_t>(head[1]));
  work.checkpoint.resize(static_cast<std::size_t>(head[2]));
  group_->broadcast(bytes_of(std::as_bytes(std::span(work.recipe))));
  group_->broadcast(bytes_of(work.checkpoint));
  return work;
}

}  // namespace sadam::train
