#include "train/record/checkpoint_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/file.h"
#include "support/files.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::write_text;

std::vector<std::byte> sealed(std::string_view meta = "{\"step\":3}",
                              std::string_view payload = "the archive") {
  return seal(meta, std::as_bytes(std::span(payload)));
}

// Opens a copy in a buffer of its own, so that a sanitizer sees a read past the end.
std::string refused(const std::vector<std::byte>& bytes) {
  const std::vector<std::byte> copy(bytes);
  return refusal([&] { open_envelope(copy); });
}

TEST(Envelope, GivesBackWhatWasSealed) {
  const std::string long_payload(100000, 'p');
  for (const std::string& payload : {std::string("the archive"), std::string(), long_payload}) {
    for (const std::string meta : {"{\"step\":3}", ""}) {
      const auto bytes = sealed(meta, payload);
      const auto envelope = open_envelope(bytes);
      EXPECT_EQ(meta, envelope.meta);
      EXPECT_EQ(payload,
                std::string(reinterpret_cast<const char*>(envelope.payload.data()), envelope.payload.size()));
      // It points into the bytes.
      EXPECT_GE(envelope.payload.data(), bytes.data());
      EXPECT_LE(envelope.payload.data() + envelope.payload.size(), bytes.data() + bytes.size());
    }
  }
}

TEST(Envelope, EveryTruncationIsRefused) {
  const auto whole = sealed();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_TRUE(says(refused(part), "cut short after " + std::to_string(length) + " bytes")) << length;
  }
}

TEST(Envelope, AnythingAfterItsEndIsRefused) {
  auto bytes = sealed();
  bytes.resize(bytes.size() + 3);
  EXPECT_TRUE(says(refused(bytes), "3 bytes longer than it says"));
}

TEST(Envelope, EveryFlippedBitIsRefused) {
  const auto whole = sealed();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto bytes = whole;
      bytes[i] ^= static_cast<std::byte>(1U << bit);
      EXPECT_THROW(open_envelope(bytes), Error) << i << " " << bit;
    }
  }
  auto damaged = whole;
  damaged[whole.size() - 8] ^= std::byte{1};
  EXPECT_TRUE(says(refused(damaged), "its checksum is wrong"));
}

TEST(Envelope, OtherFilesAreNotCheckpoints) {
  const std::string zip = "PK\3\4 and so on, for more bytes than an envelope's header has";
  const auto bytes = std::as_bytes(std::span(zip));
  EXPECT_EQ("this is not a checkpoint of sadam: put the right file back, or start the run anew.",
            refused({bytes.begin(), bytes.end()}));
}

TEST(Envelope, ANewerVersionIsNamed) {
  auto bytes = sealed();
  bytes[8] = std::byte{2};
  EXPECT_EQ("the checkpoint has version 2 and this program knows version 1: use a newer sadam.",
            refused(bytes));
}

TEST(Envelope, LengthsThatCannotBeTrueAreNotBelieved) {
  for (const std::size_t offset : {12U, 20U}) {  // the two lengths
    auto bytes = sealed();
    for (std::size_t i = 0; i < 8; ++i) bytes[offset + i] = std::byte{0xff};
    EXPECT_TRUE(says(refused(bytes), "cut short"));
  }
  // Two lengths whose sum, header and checksum included, is that of the file again after going round 2^64.
  auto bytes = sealed();
  for (const std::size_t offset : {12U, 20U}) bytes[offset + 7] = std::byte{0x80};
  EXPECT_TRUE(says(refused(bytes), "cut short"));
}

Position some_position() {
  Position position;
  position.epoch = 3;
  position.run = {40, 5, 30, 4, 7};
  position.this_epoch = {10, 1, 9, 2, 3};
  position.loss_sum = 0.1 + 0.2;
  position.finite_losses = 9;
  position.lgi_sum = 1e-300;
  position.train_seconds = 12.5;
  position.events = {12345678901, 0xfedcba98U};
  position.tensorboard = {7, 0xffffffffU};
  position.recipe = "title = \"\u00fc\"\n";
  return position;
}

TEST(Position, ComesBackToTheBit) {
  const auto position = some_position();
  const auto found = from_meta(to_meta(position));
  EXPECT_EQ(found.epoch, 3);
  EXPECT_EQ(found.step(), 40);
  EXPECT_EQ(found.run, position.run);
  EXPECT_EQ(found.this_epoch, position.this_epoch);
  EXPECT_EQ(found.loss_sum, position.loss_sum);
  EXPECT_EQ(found.finite_losses, 9);
  EXPECT_EQ(found.lgi_sum, 1e-300);
  EXPECT_EQ(found.train_seconds, 12.5);
  EXPECT_EQ(found.events, position.events);
  EXPECT_EQ(found.tensorboard, position.tensorboard);
  EXPECT_EQ(found.recipe, position.recipe);
}

TEST(Position, ASumThatIsNotFiniteStaysSo) {
  Position position;
  position.lgi_sum = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(std::isfinite(from_meta(to_meta(position)).lgi_sum));
}

TEST(Position, WhatIsMissingIsNamed) {
  EXPECT_TRUE(says(refusal([] { from_meta("{}"); }), "'epoch' is missing"));
  EXPECT_TRUE(says(refusal([] { from_meta("[1"); }), "another version of sadam"));
  auto negative = to_meta(some_position());
  const std::string bytes = "\"tensorboard_bytes\":";
  negative.insert(negative.find(bytes) + bytes.size(), "-");
  EXPECT_TRUE(says(refusal([&] { from_meta(negative); }), "'tensorboard_bytes' is no integer"));
}

TEST(Position, IsReadFromTheCheckpointOfARunWithoutItsWeights) {
  const TemporaryFolder folder;
  const RunPaths paths{folder.path()};
  EXPECT_FALSE(saved_position(paths));
  base::write_file_atomically(paths.checkpoint(), seal(to_meta(some_position()), {}));
  EXPECT_EQ(saved_position(paths).value().epoch, 3);
  write_text(paths.checkpoint(), "SADAMRUN");
  EXPECT_FALSE(saved_position(paths));
}

}  // namespace
}  // namespace sadam::train
