// Something to fetch, from a server on this machine.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "data/fetch/fetch.h"
#include "data/fetch/http_server.h"
#include "data/fetch/support.h"

namespace sadam::data::testing {

using namespace std::chrono_literals;

/// A server with an archive of about 300 kB, and the catalogue's entry for it.
class Fetch : public ::testing::Test {
 protected:
  void serve(std::vector<Reply> replies) {
    server = std::make_unique<HttpServer>(archive, std::move(replies));
    entry.url = server->url("set.tgz");
  }

  void SetUp() override {
    write_text(folder / "once", archive);
    entry = {.name = "set",
             .title = "a set",
             .url = {},
             .bytes = archive.size(),
             .checksum = {Hash::sha256, digest_of(folder / "once", Hash::sha256, {}), "this test"},
             .place = "set"};
    fs::remove(folder / "once");
    options.root = folder.path();
    options.limits = {.stall = 20s, .slowest = 1, .attempts = 3, .pause = 1ms};
    options.note = [this](const std::string& sentence) { notes.push_back(sentence); };
  }

  // The set is in place, and nothing else lies around.
  void expect_fetched() {
    const auto result = fetch(entry, options);
    EXPECT_FALSE(result.already_there);
    EXPECT_EQ(result.digest, "SHA-256 " + entry.checksum.hex);
    EXPECT_EQ(text_of_file(folder / "set/data.bin"), data);
    EXPECT_EQ(folder.names(), (std::set<std::string>{"set"}));
  }

  std::vector<std::string> ranges() const {
    std::vector<std::string> all;
    for (const auto& request : server->requests()) all.push_back(request.range);
    return all;
  }

  TemporaryFolder folder;
  std::string data = noise(300'000);
  std::string archive = archive_of({{"set/data.bin", data}});
  std::unique_ptr<HttpServer> server;
  CatalogueEntry entry;
  FetchOptions options;
  std::vector<std::string> notes;
};

}  // namespace sadam::data::testing
