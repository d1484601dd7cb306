// Decodes the files with code of its own: framing, checksums and protobuf share nothing with the writer.
#include "train/record/events.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "support/files.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::text_of_file;
using sadam::testing::write_text;

/// CRC-32C bit by bit, with the polynomial x^32 + x^28 + x^27 + ... + 1 by its powers.
std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t polynomial = 0;
  for (const int power : {28, 27, 26, 25, 23, 22, 20, 19, 18, 14, 13, 11, 10, 9, 8, 6, 0})
    polynomial |= 0x80000000U >> power;
  std::uint32_t remainder = 0xffffffffU;
  for (const char letter : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool input = ((static_cast<unsigned char>(letter) >> bit) & 1) != 0;
      const bool carry = (remainder & 1U) != 0;
      remainder >>= 1U;
      if (input != carry) remainder ^= polynomial;
    }
  }
  return remainder ^ 0xffffffffU;
}

std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t turned = masked - 0xa282ead8U;
  return (turned << 15U) | (turned >> 17U);
}

/// Takes little-endian numbers and protobuf's varints from the front of some bytes.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw std::runtime_error("past the end");
    const auto taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::uint64_t fixed(std::size_t size) {
    std::uint64_t value = 0;
    const auto bytes = take(size);
    for (std::size_t i = size; i-- > 0;) value = value * 256 + static_cast<unsigned char>(bytes[i]);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const auto byte = fixed(1);
      value |= (byte & 127U) << shift;
      if (byte < 128) return value;
    }
    throw std::runtime_error("a varint without end");
  }

 private:
  std::string_view bytes_;
};

/// Every record's data, both checksums checked.
std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (Cursor cursor(file); !cursor.at_end();) {
    const auto length = cursor.take(8);
    EXPECT_EQ(slow_crc32c(length), unmasked(static_cast<std::uint32_t>(cursor.fixed(4))));
    const auto data = cursor.take(Cursor(length).fixed(8));
    EXPECT_EQ(slow_crc32c(data), unmasked(static_cast<std::uint32_t>(cursor.fixed(4))));
    records.emplace_back(data);
  }
  return records;
}

struct ProtoField {
  std::uint64_t wire_type = 0;
  std::uint64_t number = 0;  // or the bits of a real
  std::string bytes;
};

std::map<std::uint64_t, ProtoField> fields_of(std::string_view message) {
  std::map<std::uint64_t, ProtoField> fields;
  for (Cursor cursor(message); !cursor.at_end();) {
    const auto key = cursor.varint();
    ProtoField field{key % 8, 0, {}};
    if (field.wire_type == 0) field.number = cursor.varint();
    if (field.wire_type == 1) field.number = cursor.fixed(8);
    if (field.wire_type == 2) field.bytes = cursor.take(cursor.varint());
    if (field.wire_type == 5) field.number = cursor.fixed(4);
    EXPECT_TRUE(fields.emplace(key / 8, field).second) << "field " << key / 8 << " twice";
  }
  return fields;
}

template <class Real, class Bits>
Real real_of(Bits bits) {
  static_assert(sizeof(Real) == sizeof(Bits));
  Real real{};
  std::memcpy(&real, &bits, sizeof real);
  return real;
}

struct DecodedEvent {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version;
  std::string tag;
  std::optional<float> value;
};

DecodedEvent decoded(const std::string& record) {
  DecodedEvent event;
  const auto outer = fields_of(record);
  for (const auto& [number, field] : outer) {
    switch (number) {
      case 1:
        EXPECT_EQ(1U, field.wire_type);
        event.wall_time = real_of<double>(field.number);
        break;
      case 2:
        EXPECT_EQ(0U, field.wire_type);
        event.step = static_cast<std::int64_t>(field.number);
        break;
      case 3:
        EXPECT_EQ(2U, field.wire_type);
        event.version = field.bytes;
        break;
      case 5: {
        EXPECT_EQ(2U, field.wire_type);
        const auto summary = fields_of(field.bytes);
        EXPECT_EQ(1U, summary.size());
        const auto value = fields_of(summary.at(1).bytes);
        EXPECT_EQ(2U, value.size());
        event.tag = value.at(1).bytes;
        EXPECT_EQ(5U, value.at(2).wire_type);
        event.value = real_of<float>(static_cast<std::uint32_t>(value.at(2).number));
        break;
      }
      default:
        ADD_FAILURE() << "field " << number;
    }
  }
  return event;
}

std::vector<DecodedEvent> events_of(const std::filesystem::path& path) {
  std::vector<DecodedEvent> events;
  for (const auto& record : records_of(text_of_file(path))) events.push_back(decoded(record));
  return events;
}

TEST(SlowCrc32c, KnowsThePublishedAnswers) {
  EXPECT_EQ(0xe3069283U, slow_crc32c("123456789"));
  EXPECT_EQ(0x8a9136aaU, slow_crc32c(std::string(32, '\0')));  // RFC 3720
  EXPECT_EQ(0x62a8ab43U, slow_crc32c(std::string(32, '\xff')));
}

TEST(TensorBoard, BeginsWithTheVersion) {
  const TemporaryFolder folder;
  const auto path = folder / "tensorboard/events.out.tfevents.1";
  TensorBoardWriter writer(path, 0);
  const auto events = events_of(path);
  ASSERT_EQ(1U, events.size());
  EXPECT_EQ("brain.Event:2", events[0].version);
  EXPECT_GT(events[0].wall_time, 1e9);
  EXPECT_FALSE(events[0].value);
}

TEST(TensorBoard, ScalarsHaveTagStepValueAndTime) {
  const TemporaryFolder folder;
  const auto path = folder / "events";
  TensorBoardWriter writer(path, 0);
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  writer.scalar("train/loss", 0, 4.625, 1700000000.25);
  writer.scalar("train/brake", 300, 0.1, 1700000001.5);
  writer.scalar(std::string(300, 't'), kLast, -1e300, 0);
  writer.scalar("", -1, std::nan(""), -1);
  EXPECT_EQ(std::filesystem::file_size(path), writer.sync().bytes);
  const auto events = events_of(path);
  ASSERT_EQ(5U, events.size());
  EXPECT_EQ("train/loss", events[1].tag);
  EXPECT_EQ(0, events[1].step);
  EXPECT_EQ(4.625F, events[1].value);
  EXPECT_EQ(1700000000.25, events[1].wall_time);
  EXPECT_EQ("", events[1].version);
  EXPECT_EQ("train/brake", events[2].tag);
  EXPECT_EQ(300, events[2].step);
  EXPECT_EQ(0.1F, events[2].value);
  EXPECT_EQ(std::string(300, 't'), events[3].tag);
  EXPECT_EQ(kLast, events[3].step);
  EXPECT_EQ(-std::numeric_limits<float>::infinity(), events[3].value);
  EXPECT_EQ(-1, events[4].step);
  EXPECT_TRUE(std::isnan(events[4].value.value()));
}

// The fields of a message in the order in which they came: some are there several times.
std::vector<std::pair<std::uint64_t, std::string>> parts_of(std::string_view message) {
  std::vector<std::pair<std::uint64_t, std::string>> parts;
  for (Cursor cursor(message); !cursor.at_end();) {
    const auto key = cursor.varint();
    std::string bytes;
    if (key % 8 == 0) bytes = std::to_string(cursor.varint());
    if (key % 8 == 1) bytes = cursor.take(8);
    if (key % 8 == 2) bytes = cursor.take(cursor.varint());
    if (key % 8 == 5) bytes = cursor.take(4);
    parts.emplace_back(key / 8, bytes);
  }
  return parts;
}

TEST(TensorBoard, TheRecipeIsATextAndAListOfHyperparameters) {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder / "events", 0);
  writer.recipe("[optimizer]\nlr = 0.5\n", {{"optimizer.lr", 0.5}, {"model.name", "qatnet"}, {"x", true}},
                1700000000.25);
  const auto records = records_of(text_of_file(folder / "events"));
  ASSERT_EQ(3U, records.size());
  const auto value_in = [&](const std::string& record) {
    return fields_of(fields_of(fields_of(record).at(5).bytes).at(1).bytes);
  };
  const auto plugin_in = [&](const auto& value) {
    return fields_of(fields_of(value.at(9).bytes).at(1).bytes);
  };

  const auto text = value_in(records[1]);
  EXPECT_EQ("recipe/text_summary", text.at(1).bytes);
  EXPECT_EQ("text", plugin_in(text).at(1).bytes);
  const auto tensor = fields_of(text.at(8).bytes);
  EXPECT_EQ(7U, tensor.at(1).number);  // DT_STRING
  EXPECT_EQ(1U, fields_of(fields_of(tensor.at(2).bytes).at(2).bytes).at(1).number);
  EXPECT_EQ("    [optimizer]\n    lr = 0.5\n    ", tensor.at(8).bytes);

  const auto list = value_in(records[2]);
  EXPECT_EQ("_hparams_/session_start_info", list.at(1).bytes);
  EXPECT_EQ("hparams", plugin_in(list).at(1).bytes);
  const auto session = parts_of(fields_of(plugin_in(list).at(2).bytes).at(3).bytes);
  ASSERT_EQ(4U, session.size());
  const auto entry = [&](std::size_t i) { return fields_of(session[i].second); };
  EXPECT_EQ("optimizer.lr", entry(0).at(1).bytes);
  EXPECT_EQ(0.5, real_of<double>(fields_of(entry(0).at(2).bytes).at(2).number));
  EXPECT_EQ("model.name", entry(1).at(1).bytes);
  EXPECT_EQ("qatnet", fields_of(entry(1).at(2).bytes).at(3).bytes);
  EXPECT_EQ(1U, fields_of(entry(2).at(2).bytes).at(4).number);
  EXPECT_EQ(5U, session[3].first);  // when it started
}

// Every tag has its line in the documentation. (The test runs in the root of the source.)
TEST(TensorBoard, TheTagsAreInTheDocumentation) {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder / "events", 0);
  StepEvent step;
  step.group_lgi = {0.25};
  step.group_brakes = {0.5};
  writer.step(step, 1);
  const EpochEvent first{.epoch = 1, .step = 10, .train_loss = 3, .train_seconds = 5};
  const EpochEvent second{.epoch = 2, .step = 20, .train_loss = 2, .train_seconds = 7};
  writer.epoch(first, {}, 1);
  writer.epoch(second, first, 1);
  writer.chatter({}, 1);
  const auto page = text_of_file("docs/runs.md");
  std::map<std::string, float> last;
  const auto events = events_of(folder / "events");
  for (std::size_t i = 1; i < events.size(); ++i) {
    auto tag = events[i].tag;
    last[tag] = events[i].value.value();
    if (tag.starts_with("groups/")) tag.replace(tag.find_last_of('/') + 1, 1, "N");
    EXPECT_NE(page.find('`' + tag + '`'), std::string::npos) << tag;
  }
  EXPECT_EQ(12U, last.size());
  EXPECT_EQ(0.25F, last["groups/lgi/0"]);
  EXPECT_EQ(0.5F, last["groups/brake/0"]);
  EXPECT_EQ(2.0F, last["train/epoch_loss"]);
  EXPECT_EQ(0.2F, last["time/step_seconds"]);
}

TEST(TensorBoard, ResumesWhereTheCheckpointWas) {
  const TemporaryFolder folder;
  const auto path = folder / "events";
  std::uint64_t kept = 0;
  {
    TensorBoardWriter writer(path, 0);
    writer.scalar("loss", 1, 1, 1);
    kept = writer.sync().bytes;
    writer.scalar("loss", 2, 2, 2);
  }
  write_text(folder / "cut", text_of_file(path).substr(0, kept + 5));  // killed within a record
  for (const auto& each : {path, folder / "cut"}) {
    TensorBoardWriter writer(each, kept);
    writer.scalar("loss", 20, 2, 2);
    const auto events = events_of(each);
    ASSERT_EQ(3U, events.size());
    EXPECT_EQ("brain.Event:2", events[0].version);
    EXPECT_EQ(1, events[1].step);
    EXPECT_EQ(20, events[2].step);
  }
}

TEST(TensorBoard, AFileShorterThanTheCheckpointSaysIsRefused) {
  const TemporaryFolder folder;
  write_text(folder / "events", "12345");
  EXPECT_TRUE(says(refusal([&] { TensorBoardWriter(folder / "events", 6); }), "has 5 bytes and had 6"));
  EXPECT_TRUE(says(refusal([&] { TensorBoardWriter(folder / "none/events", 6); }), "No such file"));
}

TEST(TensorBoard, AFileInPlaceOfItsFolderIsASentence) {
  const TemporaryFolder folder;
  write_text(folder / "tensorboard", "precious");
  EXPECT_EQ((folder / "tensorboard").string() +
                " is a file, where a folder for TensorBoard should be: move it away.",
            refusal([&] { TensorBoardWriter(folder / "tensorboard/events", 0); }));
  EXPECT_EQ("precious", text_of_file(folder / "tensorboard"));
}

TEST(TensorBoard, AFullDiskIsASentence) {
  const TemporaryFolder folder;
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  std::filesystem::create_symlink("/dev/full", folder / "events");
  EXPECT_TRUE(says(refusal([&] { TensorBoardWriter(folder / "events", 0); }), "No space left on device"));
}

}  // namespace
}  // namespace sadam::train
