#include "train/record/checkpoint_file.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <bit>
#include <cstring>
#include <system_error>

#include "base/file.h"
#include "train/record/json_fields.h"

namespace sadam::train {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

// Magic, version, length of the meta data, length of the payload; then both; then the checksum of all that.
constexpr std::string_view kMagic = "SADAMRUN";
constexpr std::uint32_t kNewestVersion = 1;
constexpr std::size_t kHeaderSize = kMagic.size() + sizeof kNewestVersion + 2 * sizeof(std::uint64_t);
constexpr std::size_t kChecksumSize = sizeof(std::uint32_t);

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
  Number number{};
  std::memcpy(&number, bytes.subspan(offset).first(sizeof number).data(), sizeof number);
  return number;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void refuse_cut(std::size_t size) {
  throw Error(fmt::format(
      "the checkpoint is cut short after {} bytes: go back to an earlier copy, or start the run anew.",
      size));
}

// Calls visit(name, member) for each field, in the order in which they are written.
template <class Where, class Visit>
void visit_position_fields(Where& position, const Visit& visit) {
  visit("epoch", position.epoch);
  visit("steps", position.run.steps);
  visit("skipped", position.run.skipped);
  visit("probed", position.run.probed);
  visit("within_noise", position.run.within_noise);
  visit("non_finite_probes", position.run.non_finite_probes);
  visit("epoch_steps", position.this_epoch.steps);
  visit("epoch_skipped", position.this_epoch.skipped);
  visit("epoch_probed", position.this_epoch.probed);
  visit("epoch_within_noise", position.this_epoch.within_noise);
  visit("epoch_non_finite_probes", position.this_epoch.non_finite_probes);
  visit("loss_sum", position.loss_sum);
  visit("finite_losses", position.finite_losses);
  visit("lgi_sum", position.lgi_sum);
  visit("brake_sum", position.brake_sum);
  visit("train_seconds", position.train_seconds);
  visit("evaluate_seconds", position.evaluate_seconds);
  visit("events_bytes", position.events.bytes);
  visit("events_checksum", position.events.checksum);
  visit("tensorboard_bytes", position.tensorboard.bytes);
  visit("tensorboard_checksum", position.tensorboard.checksum);
  visit("recipe", position.recipe);
}

}  // namespace

std::vector<std::byte> seal(std::string_view meta, std::span<const std::byte> payload) {
  std::vector<std::byte> bytes;
  bytes.reserve(kHeaderSize + meta.size() + payload.size() + kChecksumSize);
  const auto put = [&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  };
  const auto put_number = [&](auto number) { put(std::as_bytes(std::span(&number, 1))); };
  put(std::as_bytes(std::span(kMagic)));
  put_number(kNewestVersion);
  put_number(static_cast<std::uint64_t>(meta.size()));
  put_number(static_cast<std::uint64_t>(payload.size()));
  put(std::as_bytes(std::span(meta)));
  put(payload);
  put_number(base::crc32(bytes));
  return bytes;
}

Envelope open_envelope(std::span<const std::byte> bytes) {
  if (!kMagic.starts_with(text_of(bytes).substr(0, kMagic.size())))
    throw Error("this is not a checkpoint of sadam: put the right file back, or start the run anew.");
  if (bytes.size() < kHeaderSize) refuse_cut(bytes.size());
  const auto version = number_at<std::uint32_t>(bytes, kMagic.size());
  if (version > kNewestVersion)
    throw NewerCheckpoint(
        fmt::format("the checkpoint has version {} and this program knows version {}: use a newer sadam.",
                    version, kNewestVersion));
  const auto meta_size = number_at<std::uint64_t>(bytes, kHeaderSize - 2 * sizeof(std::uint64_t));
  const auto payload_size = number_at<std::uint64_t>(bytes, kHeaderSize - sizeof(std::uint64_t));
  // Nothing is added to these lengths before they are known to be small: the sum could begin again at 0.
  auto left = static_cast<std::uint64_t>(bytes.size() - kHeaderSize);
  for (const auto size : {meta_size, payload_size, static_cast<std::uint64_t>(kChecksumSize)}) {
    if (size > left) refuse_cut(bytes.size());
    left -= size;
  }
  if (left != 0)
    throw Error(fmt::format(
        "the checkpoint is {} bytes longer than it says: it is damaged, so go back to an earlier copy.",
        left));
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // a fuzzer seldom guesses a checksum
  const auto checked = bytes.first(bytes.size() - kChecksumSize);
  if (base::crc32(checked) != number_at<std::uint32_t>(bytes, checked.size()))
    throw Error(
        "the checkpoint is damaged: its checksum is wrong, so go back to an earlier copy or start the run "
        "anew.");
#endif
  const auto body = bytes.subspan(kHeaderSize);
  return {text_of(body.first(static_cast<std::size_t>(meta_size))),
          body.subspan(static_cast<std::size_t>(meta_size), static_cast<std::size_t>(payload_size))};
}

std::string to_meta(const Position& position) {
  nlohmann::ordered_json meta;
  visit_position_fields(position, JsonFieldWriter(meta));
  return meta.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Position from_meta(std::string_view meta) {
  Position position;
  const auto json = nlohmann::json::parse(meta.begin(), meta.end(), nullptr, false);
  try {
    if (!json.is_object()) throw Error("there is no JSON object");
    visit_position_fields(position, JsonFieldReader(json));
  } catch (const Error& error) {
    throw Error(
        fmt::format("the checkpoint does not say where the run stands ({}): it was made by another version "
                    "of sadam, so go on with that or start the run anew.",
                    error.what()));
  }
  return position;
}

std::optional<Position> saved_position(const RunPaths& paths) {
  std::error_code unreadable;
  if (!std::filesystem::exists(paths.checkpoint(), unreadable)) return std::nullopt;
  try {
    const auto file = base::read_file(paths.checkpoint());
    return from_meta(open_envelope(file).meta);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace sadam::train
