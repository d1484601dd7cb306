#include "data/fetch/fetch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "base/usage_error.h"
#include "data/fetch/digest.h"
#include "data/fetch/file_lock.h"
#include "http_server.h"
#include "support.h"

namespace sadam::data {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;

// A server with an archive of about 300 kB, and the catalogue's entry for it.
class Fetch : public ::testing::Test {
 protected:
  void serve(std::vector<Reply> replies) {
    server = std::make_unique<HttpServer>(archive, std::move(replies));
    entry.url = server->url("set.tgz");
  }

  void SetUp() override {
    write_text(folder.path / "once", archive);
    entry = {.name = "set",
             .title = "a set",
             .url = {},
             .bytes = archive.size(),
             .checksum = {Hash::sha256, digest_of(folder.path / "once", Hash::sha256, {}), "this test"},
             .place = "set"};
    fs::remove(folder.path / "once");
    options.root = folder.path;
    options.limits = {.stall = 20s, .slowest = 1, .attempts = 3, .pause = 1ms};
    options.note = [this](const std::string& sentence) { notes.push_back(sentence); };
  }

  // The set is in place, and nothing else lies around.
  void expect_fetched() {
    const auto result = fetch(entry, options);
    EXPECT_FALSE(result.already_there);
    EXPECT_TRUE(result.verified);
    EXPECT_EQ(result.digest, "SHA-256 " + entry.checksum.hex);
    EXPECT_EQ(text_of(folder.path / "set/data.bin"), data);
    EXPECT_EQ(folder.names(), (std::set<std::string>{"set"}));
  }

  std::vector<std::string> ranges() const {
    std::vector<std::string> all;
    for (const auto& request : server->requests()) all.push_back(request.range);
    return all;
  }

  Folder folder;
  std::string data = noise(300'000);
  std::string archive = archive_of({{"set/data.bin", data}});
  std::unique_ptr<HttpServer> server;
  CatalogueEntry entry;
  FetchOptions options;
  std::vector<std::string> notes;
};

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
  fs::create_directory(folder.path / "set");
  write_text(folder.path / "set/mine", "untouched");
  EXPECT_TRUE(fetch(entry, options).already_there);
  EXPECT_EQ(text_of(folder.path / "set/mine"), "untouched");
  EXPECT_TRUE(server->requests().empty());
}

TEST_F(Fetch, ContinuesAfterTheConnectionBrokeOff) {
  serve({{.break_after = 100'000}, {.break_after = 50'000}, {}});
  expect_fetched();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"", "bytes=100000-", "bytes=150000-"}));
  EXPECT_EQ(server->requests()[1].if_range, "\"first\"");
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(Fetch, ContinuesWhatAnEarlierProcessLeft) {
  serve({{.break_after = 100'000}, {}});
  EXPECT_NE(0, in_another_process([&] {
              options.progress = [](FetchStage, std::uint64_t done, std::uint64_t) {
                if (done >= 100'000) raise(SIGKILL);
              };
              fetch(entry, options);
              return 0;
            }));
  EXPECT_EQ(text_of(folder.path / "set.tgz.part"), archive.substr(0, 100'000));
  expect_fetched();
  EXPECT_EQ(ranges().back(), "bytes=100000-");
  EXPECT_EQ(server->requests().back().if_range, "\"first\"");
}

TEST_F(Fetch, StartsAnewWhereTheServerIgnoresRange) {
  serve({{.break_after = 100'000}, {.ranges = false}});
  expect_fetched();
  EXPECT_EQ(ranges().back(), "bytes=100000-");
}

TEST_F(Fetch, StartsAnewWhereTheServerHasAnotherVersion) {
  serve({{}});
  write_text(folder.path / "set.tgz.part", "bytes of an older version");
  write_text(folder.path / "set.tgz.part.etag", "\"zeroth\"\n");
  expect_fetched();
  EXPECT_EQ(server->requests()[0].if_range, "\"zeroth\"");
}

TEST_F(Fetch, StartsAnewWhereTheServerContinuesAtAnotherByte) {
  serve({{.break_after = 100'000}, {.shift_range = 10}, {}});
  expect_fetched();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"", "bytes=100000-", ""}));
}

TEST_F(Fetch, TakesOutOfRangeAsCompleteIfAllIsThere) {
  serve({{}});
  entry.bytes = 0;  // only the server knows
  write_text(folder.path / "set.tgz.part", archive);
  expect_fetched();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"bytes=" + std::to_string(archive.size()) + "-"}));
}

TEST_F(Fetch, StartsAnewWhenOutOfRange) {
  serve({{.says_size_when_out_of_range = false}});
  write_text(folder.path / "set.tgz.part", archive + "too much");
  expect_fetched();
  EXPECT_EQ(ranges().back(), "");
}

TEST_F(Fetch, AsksForNothingIfThePartIsComplete) {
  serve({{.status = 500}});
  write_text(folder.path / "set.tgz.part", archive);
  expect_fetched();
  EXPECT_TRUE(server->requests().empty());
}

TEST_F(Fetch, TriesAgainWhenTheServerStalls) {
  serve({{.silent_after = 100'000}, {}});
  options.limits.stall = 300ms;
  expect_fetched();
  EXPECT_EQ(ranges().at(1), "bytes=100000-");
  ASSERT_FALSE(notes.empty());
  EXPECT_TRUE(says(notes[0], "nothing came for too long"));
}

TEST_F(Fetch, GivesUpWhenNothingGetsFurther) {
  serve({{.break_after = 100'000}, {.break_after = 0}});
  const auto sentence = refusal([&] { fetch(entry, options); });
  EXPECT_TRUE(says(sentence, entry.url));
  EXPECT_TRUE(says(sentence, "3 attempts in a row"));
  EXPECT_EQ(server->requests().size(), 4U);
  EXPECT_EQ(fs::file_size(folder.path / "set.tgz.part"), 100'000U);
}

TEST_F(Fetch, GivesUpOnAServerThatNeverGetsFurtherThanItsStart) {
  serve({{.ranges = false, .break_after = 100'000}});
  refusal([&] { fetch(entry, options); });
  EXPECT_EQ(server->requests().size(), 4U);
}

TEST_F(Fetch, RemovesWrongBytesAndGivesBothDigests) {
  serve({{}});
  server->set_content(noise(1000));
  const auto sentence = refusal([&] { fetch(entry, options); });
  write_text(folder.path / "wrong", noise(1000));
  EXPECT_TRUE(says(sentence, entry.checksum.hex));
  EXPECT_TRUE(says(sentence, digest_of(folder.path / "wrong", Hash::sha256, {})));
  EXPECT_EQ(folder.names(), (std::set<std::string>{"wrong"}));
}

TEST_F(Fetch, SaysNotFoundAtOnceAndTakesNoPageForData) {
  serve({{.status = 404}});
  EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "answered 404"));
  EXPECT_EQ(server->requests().size(), 1U);
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(Fetch, TriesAgainAfterAServerError) {
  serve({{.status = 500}, {.status = 503}, {}});
  expect_fetched();
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(Fetch, FollowsRedirections) {
  serve({{.status = 302, .location = "/moved/set.tgz"},
         {.break_after = 1000},
         {.status = 302, .location = "/b"},
         {}});
  expect_fetched();
  const auto requests = server->requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[1].path, "/moved/set.tgz");
  EXPECT_EQ(requests[3].range, "bytes=1000-");
}

TEST_F(Fetch, EndsARedirectionInCircles) {
  serve({{.status = 302, .location = "/again"}});
  EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "redirects"));
}

TEST_F(Fetch, FollowsRedirectionsToWebServersOnly) {
  for (const std::string other : {"file:///etc/hostname", "ftp://127.0.0.1:1/set.tgz"}) {
    serve({{.status = 302, .location = other}});
    EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "rotocol")) << other;  // in libcurl's words
    EXPECT_EQ(server->requests().size(), 1U) << other;
  }
}

TEST_F(Fetch, StopsWhenAskedEvenIfTheServerIsSilentAndContinuesLater) {
  serve({{.silent_after = 100'000}, {}});
  std::uint64_t seen = 0;
  options.progress = [&](FetchStage, std::uint64_t done, std::uint64_t) { seen = done; };
  options.stop = [&] { return seen >= 100'000; };
  EXPECT_THROW(fetch(entry, options), Interrupted);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set.tgz.part", "set.tgz.part.etag"}));
  options.stop = {};
  expect_fetched();
  EXPECT_EQ(ranges().back(), "bytes=100000-");
}

TEST_F(Fetch, StopsWhenAskedDuringAPause) {
  serve({{.status = 500}});
  options.limits.pause = 60s;
  options.stop = [&] { return !notes.empty(); };
  EXPECT_THROW(fetch(entry, options), Interrupted);
}

TEST_F(Fetch, SaysWhereItCouldNotConnect) {
  serve({{}});
  const auto url = entry.url;
  server.reset();  // nobody listens there any more
  EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), url));
}

TEST_F(Fetch, DoesNotClaimToHaveVerifiedWithoutAPublishedChecksum) {
  serve({{}});
  const auto hex = entry.checksum.hex;
  entry.checksum.hex.clear();
  const auto result = fetch(entry, options);
  EXPECT_FALSE(result.verified);
  EXPECT_EQ(result.digest, "SHA-256 " + hex);
}

TEST_F(Fetch, ContinuesWithoutAChecksumOnlyIfTheVersionIsKnown) {
  serve({{}});
  server->set_etag("");
  entry.checksum.hex.clear();
  write_text(folder.path / "set.tgz.part", "whatever");
  fetch(entry, options);
  EXPECT_EQ(ranges(), (std::vector<std::string>{""}));
  EXPECT_EQ(text_of(folder.path / "set/data.bin"), data);
}

TEST_F(Fetch, UnpacksAnArchiveThatWasPutThereByHandAndKeepsIt) {
  serve({{}});
  write_text(folder.path / "set.tgz", archive);
  EXPECT_TRUE(fetch(entry, options).verified);
  EXPECT_EQ(text_of(folder.path / "set/data.bin"), data);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set", "set.tgz"}));
  EXPECT_TRUE(server->requests().empty());
}

TEST_F(Fetch, RefusesAWrongArchiveThatWasPutThereByHandButLeavesIt) {
  serve({{}});
  write_text(folder.path / "set.tgz", "something else");
  EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "is not the published file"));
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set.tgz"}));
}

TEST_F(Fetch, PutsAPlainFileInPlace) {
  serve({{}});
  entry.archive = false;
  entry.place = "weights.pth";
  EXPECT_TRUE(fetch(entry, options).verified);
  EXPECT_EQ(text_of(folder.path / "weights.pth"), archive);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"weights.pth"}));
  EXPECT_EQ(check_file(entry, folder.path, {}), "SHA-256 " + entry.checksum.hex);
}

TEST_F(Fetch, ChecksAPlainFile) {
  entry.archive = false;
  EXPECT_TRUE(says(refusal([&] { check_file(entry, folder.path, {}); }), "sadam data fetch set"));
  write_text(folder.path / "set", "something else");
  EXPECT_TRUE(says(refusal([&] { check_file(entry, folder.path, {}); }), "is not the published file"));
}

TEST_F(Fetch, RefusesToDoWhatAnotherProcessIsDoing) {
  serve({{}});
  {
    const FileLock other(folder.path / ".set.lock", "fetching set");
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
  const int status = in_another_process([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto sentence = refusal([&] { fetch(entry, options); });
    return says(sentence, "cannot write") && says(sentence, "set.tgz.part: File too large") ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fs::file_size(folder.path / "set.tgz.part"), 100'000U);
  expect_fetched();
  EXPECT_EQ(ranges().back(), "bytes=100000-");
}

TEST_F(Fetch, SaysSoWhenTheRootCannotBeMade) {
  serve({{}});
  write_text(folder.path / "file", "");
  options.root = folder.path / "file/below";
  EXPECT_TRUE(says(refusal([&] { fetch(entry, options); }), "cannot make the folder"));
}

TEST(Digest, MatchesKnownAnswers) {
  const Folder folder;
  write_text(folder.path / "abc", "abc");  // RFC 1321 and FIPS 180-4
  EXPECT_EQ(digest_of(folder.path / "abc", Hash::md5, {}), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest_of(folder.path / "abc", Hash::sha256, {}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(says(refusal([&] { digest_of(folder.path / "none", Hash::md5, {}); }), "none"));
}

}  // namespace
}  // namespace sadam::data
