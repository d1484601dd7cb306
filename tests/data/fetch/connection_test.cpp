// What a connection can do to a download: break off, stall, redirect, answer with something else.
#include <gtest/gtest.h>

#include <csignal>

#include "data/fetch/fetch.h"
#include "data/fetch/fetch_fixture.h"

namespace sadam::data {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST_F(Fetch, ContinuesAfterTheConnectionBrokeOff) {
  serve({{.break_after = 100'000}, {.break_after = 50'000}, {}});
  expect_fetched();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"", "bytes=100000-", "bytes=150000-"}));
  EXPECT_EQ(server->requests()[1].if_range, "\"first\"");
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(Fetch, ContinuesWhatAnEarlierProcessLeft) {
  serve({{.break_after = 100'000}, {}});
  Child child([&] {
    options.progress = [](FetchStage, std::uint64_t done, std::uint64_t) {
      if (done >= 100'000) raise(SIGKILL);
    };
    fetch(entry, options);
    return 0;
  });
  EXPECT_EQ(child.status(), -SIGKILL);
  EXPECT_EQ(text_of_file(folder / "set.tgz.part"), archive.substr(0, 100'000));
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
  write_text(folder / "set.tgz.part", "bytes of an older version");
  write_text(folder / "set.tgz.part.etag", "\"zeroth\"\n");
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
  write_text(folder / "set.tgz.part", archive);
  expect_fetched();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"bytes=" + std::to_string(archive.size()) + "-"}));
}

TEST_F(Fetch, StartsAnewWhenOutOfRange) {
  serve({{.says_size_when_out_of_range = false}});
  write_text(folder / "set.tgz.part", archive + "too much");
  expect_fetched();
  EXPECT_EQ(ranges().back(), "");
}

TEST_F(Fetch, AsksForNothingIfThePartIsComplete) {
  serve({{.status = 500}});
  write_text(folder / "set.tgz.part", archive);
  expect_fetched();
  EXPECT_TRUE(server->requests().empty());
}

TEST_F(Fetch, TriesAgainWhenTheServerStalls) {
  serve({{.silent_after = 100'000}, {}});
  options.limits.stall = 1s;
  options.limits.slowest = 1'000'000;  // libcurl looks at the last seconds, which must not be fast
  expect_fetched();
  EXPECT_EQ(ranges().at(1), "bytes=100000-");
  ASSERT_FALSE(notes.empty());
  EXPECT_TRUE(says(notes[0], "Operation too slow"));
}

TEST_F(Fetch, GivesUpWhenNothingGetsFurther) {
  serve({{.break_after = 100'000}, {.break_after = 0}});
  const auto sentence = refusal([&] { fetch(entry, options); });
  EXPECT_TRUE(says(sentence, entry.url));
  EXPECT_TRUE(says(sentence, "3 attempts in a row"));
  EXPECT_EQ(server->requests().size(), 4U);
  EXPECT_EQ(fs::file_size(folder / "set.tgz.part"), 100'000U);
  // The way out that it names is one.
  const auto by_hand = folder / "set.tgz";
  EXPECT_TRUE(says(sentence, "with " + by_hand.string() + ", if you put that there yourself"));
  write_text(by_hand, archive);
  EXPECT_FALSE(fetch(entry, options).already_there);
  EXPECT_EQ(server->requests().size(), 4U);
}

TEST_F(Fetch, GivesUpOnAServerThatNeverGetsFurtherThanItsStart) {
  serve({{.ranges = false, .break_after = 100'000}});
  refusal([&] { fetch(entry, options); });
  EXPECT_EQ(server->requests().size(), 4U);
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

}  // namespace
}  // namespace sadam::data
