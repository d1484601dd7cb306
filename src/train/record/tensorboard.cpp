// TensorBoard event files: records framed by length and masked CRC-32C, each a protobuf Event with one
// scalar.
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "base/file.h"
#include "train/record/events.h"

namespace sadam::train {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

template <class Number>
std::string raw(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

/// The part of protobuf's wire format that an Event needs: each field is its number and its wire type, then
/// its value.
class Message {
 public:
  Message& real64(unsigned field, double value) { return put(field, 1, raw(value)); }
  Message& real32(unsigned field, float value) { return put(field, 5, raw(value)); }
  Message& integer(unsigned field, std::int64_t value) {
    return put(field, 0, varint(static_cast<std::uint64_t>(value)));
  }
  Message& bytes(unsigned field, std::string_view value) {
    return put(field, 2, varint(value.size()) + std::string(value));
  }
  const std::string& encoded() const { return encoded_; }

 private:
  Message& put(unsigned field, unsigned wire_type, const std::string& value) {
    encoded_ += varint(field << 3U | wire_type) + value;
    return *this;
  }

  /// Seven bits a byte, lowest first; the eighth bit says that more follow.
  static std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
    return bytes + static_cast<char>(value);
  }

  std::string encoded_;
};

/// Checksums of data that itself holds checksums are weak, so the format turns and shifts them.
std::string masked_checksum(const std::string& bytes) {
  const auto crc = base::crc32c(std::as_bytes(std::span(bytes)));
  return raw(std::rotr(crc, 15) + 0xa282ead8U);
}

std::string framed(const Message& message) {
  const auto& data = message.encoded();
  const auto length = raw(static_cast<std::uint64_t>(data.size()));
  return length + masked_checksum(length) + data + masked_checksum(data);
}

/// A double too large for a float becomes infinite, by name: the conversion itself would be undefined.
float to_float(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (value > kMost) return kInfinity;
  if (value < -kMost) return -kInfinity;
  return static_cast<float>(value);
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// tensorflow/core/util/event.proto: Event{wall_time = 1, step = 2, file_version = 3, summary = 5}
Message version_event() { return Message().real64(1, seconds_since_1970()).bytes(3, "brain.Event:2"); }

// tensorflow/core/framework/summary.proto: Summary{value = 1}, Summary.Value{tag = 1, simple_value = 2}
Message scalar_event(std::string_view tag, std::int64_t step, double value, double wall_time) {
  const auto one = Message().bytes(1, tag).real32(2, to_float(value));
  const auto summary = Message().bytes(1, one.encoded());
  return Message().real64(1, wall_time).integer(2, step).bytes(5, summary.encoded());
}

// The path, whose folder is made.
const std::filesystem::path& in_its_folder(const std::filesystem::path& path) {
  const auto folder = base::folder_of(path);
  std::error_code problem;
  if (std::filesystem::exists(folder, problem) && !std::filesystem::is_directory(folder, problem))
    throw Error(fmt::format("{} is a file, where a folder for TensorBoard should be: move it away.",
                            folder.string()));
  std::filesystem::create_directories(folder, problem);
  if (problem) throw base::failure("make the folder", folder, problem.value());
  return path;
}

void append(AppendFile& file, const Message& message) {
  const auto record = framed(message);
  file.append(std::as_bytes(std::span(record)));
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& path, std::uint64_t keep)
    : file_(keep == 0 ? in_its_folder(path) : path, keep) {
  if (keep == 0) append(file_, version_event());
}

void TensorBoardWriter::scalar(std::string_view tag, std::int64_t step, double value, double wall_time) {
  append(file_, scalar_event(tag, step, value, wall_time));
}

}  // namespace sadam::train
