#include "data/fetch/fetch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "base/file.h"
#include "data/fetch/fetch_fixture.h"

namespace sadam::data {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST_F(Fetch, DownloadsVerifiesAndUnpacks) {
  serve({{}});
  std::vector<FetchStage> stages;
  std::uint64_t downloaded = 0;
  options.progress = [&](FetchStage stage, std::uint64_t done, std::uint64_t all) {
    if (stages.empty() || stages.back() != stage) stages.push_back(stage);
    if (stage == FetchStage::download) downloaded = done;
    EXPECT_LE(done, all);
  };
  expect_fetched();
  EXPECT_EQ(stages, (std::vector{FetchStage::download, FetchStage::verify, FetchStage::unpack}));
  EXPECT_EQ(downloaded, archive.size());
  EXPECT_TRUE(notes.empty());
}

TEST_F(Fetch, KeepsTheArchiveIfAsked) {
  serve({{}});
  options.keep_archive = true;
  fetch(entry, options);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set", "set.tgz"}));
}

TEST_F(Fetch, LeavesAPlaceThatExistsAlone) {
  serve({{}});
  fs::create_directory(folder / "set");
  write_text(folder / "set/mine", "untouched");
  EXPECT_TRUE(fetch(entry, options).already_there);
  EXPECT_EQ(text_of_file(folder / "set/mine"), "untouched");
  EXPECT_TRUE(server->requests().empty());
}

TEST_F(Fetch, RemovesWrongBytesAndGivesBothDigests) {
  serve({{}});
  server->set_content(noise(1000));
  const auto sentence = refusal([&] { fetch(entry, options); });
  write_text(folder / "wrong", noise(1000));
  EXPECT_TRUE(says(sentence, entry.checksum.hex));
  EXPECT_TRUE(says(sentence, digest_of(folder / "wrong", Hash::sha256, {})));
  EXPECT_EQ(folder.names(), (std::set<std::string>{"wrong"}));
}

TEST_F(Fetch, UnpacksAnArchiveThatWasPutThereByHandAndKeepsIt) {
  serve({{}});
  write_text(folder / "set.tgz", archive);
  EXPECT_EQ(fetch(entry, options).digest, "SHA-256 " + entry.checksum.hex);
  EXPECT_EQ(text_of_file(folder / "set/data.bin"), data);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set", "set.tgz"}));
  EXPECT_TRUE(server->requests().empty());
}

TEST_F(Fetch, RefusesAWrongArchiveThatWasPutThereByHandButLeavesIt) {
  serve({{}});
  write_text(folder / "set.tgz", "something else");
  EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "is not the published file"));
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set.tgz"}));
}

TEST_F(Fetch, PutsAPlainFileInPlace) {
  serve({{}});
  entry.archive = false;
  entry.place = "weights.pth";
  EXPECT_EQ(fetch(entry, options).digest, "SHA-256 " + entry.checksum.hex);
  EXPECT_EQ(text_of_file(folder / "weights.pth"), archive);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"weights.pth"}));
  EXPECT_EQ(check_file(entry, folder.path(), {}), "SHA-256 " + entry.checksum.hex);
}

TEST_F(Fetch, ChecksAPlainFile) {
  entry.archive = false;
  EXPECT_TRUE(says(refusal([&] { check_file(entry, folder.path(), {}); }), "sadam data fetch set"));
  write_text(folder / "set", "something else");
  EXPECT_TRUE(says(refusal([&] { check_file(entry, folder.path(), {}); }), "is not the published file"));
}

TEST_F(Fetch, RefusesToDoWhatAnotherProcessIsDoing) {
  serve({{}});
  {
    const auto other = base::open_descriptor(folder / ".set.lock", O_RDWR | O_CREAT);
    ASSERT_EQ(::flock(other.number(), LOCK_EX), 0);
    EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "another process is fetching set"));
  }
  expect_fetched();
}

TEST_F(Fetch, SaysBeforehandThatItWillNotFit) {
  serve({{}});
  entry.bytes = std::uint64_t{1} << 60;
  EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "make room"));
  EXPECT_TRUE(server->requests().empty());
}

TEST_F(Fetch, SaysSoWhenTheDiskIsFullAndKeepsWhatArrived) {
  serve({{}});
  Child child([&] {
    sadam::testing::limit_file_size(100'000);
    const auto sentence = refusal([&] { fetch(entry, options); });
    return says(sentence, "cannot write") && says(sentence, "set.tgz.part: File too large") ? 0 : 1;
  });
  EXPECT_EQ(child.status(), 0);
  EXPECT_EQ(fs::file_size(folder / "set.tgz.part"), 100'000U);
  expect_fetched();
  EXPECT_EQ(ranges().back(), "bytes=100000-");
}

TEST_F(Fetch, SaysSoWhenTheRootCannotBeMade) {
  serve({{}});
  write_text(folder / "file", "");
  options.root = folder / "file/below";
  EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "cannot make the folder"));
}

}  // namespace
}  // namespace sadam::data
