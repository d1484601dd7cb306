// TensorBoard event files: records framed by length and masked CRC-32C, each a protobuf Event with one
// scalar, or with what the run was told.
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

// A value that belongs to a plugin. SummaryMetadata{plugin_data = 1, data_class = 4},
// PluginData{plugin_name = 1, content = 2}; Summary.Value{tag = 1, tensor = 8, metadata = 9}
Message plugin_event(std::string_view tag, std::string_view plugin, std::string_view content,
                     const Message& tensor, double wall_time) {
  constexpr std::int64_t kTensorClass = 2;
  const auto data = Message().bytes(1, plugin).bytes(2, content);
  const auto metadata = Message().bytes(1, data.encoded()).integer(4, kTensorClass);
  const auto one = Message().bytes(1, tag).bytes(8, tensor.encoded()).bytes(9, metadata.encoded());
  const auto summary = Message().bytes(1, one.encoded());
  return Message().real64(1, wall_time).integer(2, 0).bytes(5, summary.encoded());
}

// tensorflow/core/framework/tensor.proto: TensorProto{dtype = 1, tensor_shape = 2, float_val = 5,
// string_val = 8}, TensorShapeProto{dim = 2}, Dim{size = 1}
Message text_event(std::string_view tag, std::string_view markdown, double wall_time) {
  constexpr std::int64_t kString = 7;
  const auto shape = Message().bytes(2, Message().integer(1, 1).encoded());
  const auto tensor = Message().integer(1, kString).bytes(2, shape.encoded()).bytes(8, markdown);
  return plugin_event(tag, "text", "", tensor, wall_time);
}

// tensorboard/plugins/hparams/plugin_data.proto: HParamsPluginData{session_start_info = 3},
// SessionStartInfo{map<string, google.protobuf.Value> hparams = 1, start_time_secs = 5};
// Value{number_value = 2, string_value = 3, bool_value = 4}
Message hyperparameters_event(const std::vector<Hyperparameter>& fields, double wall_time) {
  struct Encode {
    Message operator()(double number) const { return Message().real64(2, number); }
    Message operator()(const std::string& text) const { return Message().bytes(3, text); }
    Message operator()(bool flag) const { return Message().integer(4, flag ? 1 : 0); }
  };
  Message session;
  for (const auto& [name, value] : fields)
    session.bytes(1, Message().bytes(1, name).bytes(2, std::visit(Encode{}, value).encoded()).encoded());
  session.real64(5, wall_time);
  const auto content = Message().bytes(3, session.encoded());
  constexpr std::int64_t kFloat = 1;
  const auto nothing = Message().integer(1, kFloat).bytes(2, "").bytes(5, raw(0.0F));  // the plugin wants one
  return plugin_event("_hparams_/session_start_info", "hparams", content.encoded(), nothing, wall_time);
}

// As markdown that is shown as it stands.
std::string indented(std::string_view text) {
  std::string result = "    ";
  for (const char letter : text) {
    result += letter;
    if (letter == '\n') result += "    ";
  }
  return result;
}

}  // namespace

void check_tensorboard_place(const std::filesystem::path& folder) {
  std::error_code problem;
  if (std::filesystem::exists(folder, problem) && !std::filesystem::is_directory(folder, problem))
    throw Error(fmt::format("{} is a file, where a folder for TensorBoard should be: move it away.",
                            folder.string()));
}

namespace {

// The path, whose folder is made.
const std::filesystem::path& in_its_folder(const std::filesystem::path& path) {
  const auto folder = base::folder_of(path);
  check_tensorboard_place(folder);
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) throw base::failure("make the folder", folder, problem.value());
  return path;
}

void append(AppendFile& file, const Message& message) { file.append(framed(message)); }

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& path, std::uint64_t keep)
    : file_(keep == 0 ? in_its_folder(path) : path, keep) {
  if (keep == 0) append(file_, version_event());
}

void TensorBoardWriter::scalar(std::string_view tag, std::int64_t step, double value, double wall_time) {
  append(file_, scalar_event(tag, step, value, wall_time));
}

void TensorBoardWriter::step(const StepEvent& event, double wall_time) {
  scalar("train/loss", event.step, event.loss, wall_time);
  scalar("train/lr", event.step, event.lr, wall_time);
  scalar("probe/lgi", event.step, event.lgi, wall_time);
  scalar("probe/brake", event.step, event.brake, wall_time);
  for (std::size_t i = 0; i < event.group_lgi.size(); ++i)
    scalar(fmt::format("groups/lgi/{}", i), event.step, event.group_lgi[i], wall_time);
  for (std::size_t i = 0; i < event.group_brakes.size(); ++i)
    scalar(fmt::format("groups/brake/{}", i), event.step, event.group_brakes[i], wall_time);
}

void TensorBoardWriter::epoch(const EpochEvent& event, const EpochEvent& before, double wall_time) {
  scalar("train/epoch_loss", event.step, event.train_loss, wall_time);
  scalar("test/loss", event.step, event.test_loss, wall_time);
  scalar("test/accuracy", event.step, event.test_accuracy, wall_time);
  if (event.validation_loss) scalar("validation/loss", event.step, *event.validation_loss, wall_time);
  if (event.validation_accuracy)
    scalar("validation/accuracy", event.step, *event.validation_accuracy, wall_time);
  scalar("time/step_seconds", event.step,
         (event.train_seconds - before.train_seconds) / static_cast<double>(event.step - before.step),
         wall_time);
}

void TensorBoardWriter::chatter(const ChatterEvent& event, double wall_time) {
  scalar("path/chatter", event.step, event.chatter, wall_time);
  scalar("path/flips", event.step, event.flips, wall_time);
}

void TensorBoardWriter::recipe(std::string_view toml, const std::vector<Hyperparameter>& fields,
                               double wall_time) {
  append(file_, text_event("recipe/text_summary", indented(toml), wall_time));
  append(file_, hyperparameters_event(fields, wall_time));
}

}  // namespace sadam::train
