// The server as a browser meets it, and as somebody who means it ill.
#include "page/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "support/fake_runs.h"

namespace sadam::page {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kServed =
    R"(<head><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-x='"></head>)"
    R"(<script type="application/json" id="sadam-data">null</script>)";

/// A connection on which anything can be sent.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.number(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval patience{8, 0};
    ::setsockopt(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  void send(std::string_view text) const {
    [[maybe_unused]] const auto sent = ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// Until something of this kind has come, or the other side has ended.
  std::string receive(std::string_view until = "") {
    std::array<char, 4096> buffer{};
    while (until.empty() || received_.find(until) == std::string::npos) {
      const auto got = ::recv(socket_.number(), buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      received_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return received_;
  }

 private:
  base::Descriptor socket_;
  std::string received_;
};

class ServerTest : public sadam::testing::RunsTest {
 protected:
  void SetUp() override {
    sadam::testing::write_run(paths("a/b"), sadam::testing::recipe_with({}), {0.5});
    start({.host = "127.0.0.1", .port = 0});
  }
  void start(const ServerOptions& options, std::string_view page = kServed) {
    server_.reset();
    server_ = std::make_unique<Server>(shelf_, page, options);
  }
  /// The first line and all that follows, for a request as it is written here.
  std::string answer_to(const std::string& request) const {
    RawClient raw(server_->port());
    raw.send(request);
    return raw.receive();
  }
  std::string get(const std::string& path, const std::string& host = "localhost",
                  const std::string& more = "") const {
    return answer_to(
        fmt::format("GET {} HTTP/1.1\r\nHost: {}:{}\r\n{}\r\n", path, host, server_->port(), more));
  }
  std::string status_of(const std::string& path) const { return get(path).substr(9, 3); }
  std::string stream_request() const {
    return fmt::format("GET /api/changes HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server_->port());
  }

  Shelf shelf_{{.root = "runs",
                .runs = [root = root_] { return runs_below(root, /*confined=*/true); },
                .attachments = {root_},
                .live = true}};
  std::unique_ptr<Server> server_;
};

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

TEST_F(ServerTest, AnswersWithThePageTheReportAndARun) {
  const auto page = get("/");
  EXPECT_TRUE(begins_with(page, "HTTP/1.1 200")) << page;
  EXPECT_EQ(body_of(page), kServed);
  EXPECT_NE(page.find("\r\nContent-Type: text/html; charset=utf-8\r\n"), std::string::npos) << page;
  const auto report = get("/api/report");
  EXPECT_NE(report.find("\r\nContent-Type: application/json\r\n"), std::string::npos) << report;
  EXPECT_EQ(Json::parse(body_of(report))["runs"][0]["id"], "a/b");
  EXPECT_EQ(Json::parse(body_of(report))["live"], true);
  const auto run = get("/api/run?id=a%2Fb");
  EXPECT_EQ(Json::parse(body_of(run))["details"]["epochs"].size(), 1U);
}

TEST_F(ServerTest, EveryAnswerHasStrictHeaders) {
  for (const char* path : {"/", "/api/report", "/api/run?id=none", "/nowhere"}) {
    const auto answer = get(path);
    for (const std::string header :
         {"Content-Security-Policy: default-src 'none'; script-src 'sha256-x='; frame-ancestors 'none'",
          "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer", "Cache-Control: no-store"})
      EXPECT_NE(answer.find("\r\n" + header + "\r\n"), std::string::npos) << path << ' ' << header;
    EXPECT_EQ(answer.find("Access-Control-Allow-Origin"), std::string::npos) << path;
  }
}

TEST_F(ServerTest, NoPathLeadsOutOfTheFolder) {
  sadam::testing::write_text(root_ / "secret.txt", "a secret");
  const sadam::testing::TemporaryFolder outside;
  sadam::testing::write_run({outside.path() / "out"}, sadam::testing::recipe_with({"title=a secret"}), {0.5});
  std::filesystem::create_directory_symlink(outside.path() / "out", root_ / "link");
  const auto out = outside.path().filename().string() + "/out";
  const std::vector<std::string> ids = {"..",
                                        "../" + out,
                                        "..%2f" + out,
                                        "%2e%2e%2f" + out,
                                        "%252e%252e/" + out,
                                        "a/../../" + out,
                                        "a/b/../b",
                                        "./a/b",
                                        "a//b",
                                        "a/b/",
                                        "/a/b",
                                        (outside.path() / "out").string(),
                                        "a/b%00",
                                        "%00",
                                        "a/b%00.txt",
                                        "link",
                                        "secret.txt",
                                        "a",
                                        "A/B",
                                        "a%5cb",
                                        "a/b%0d%0aX:%20y",
                                        std::string(5000, 'a'),
                                        "%ff%fe",
                                        "%zz",
                                        ""};
  for (const auto& id : ids) {
    const auto text = get("/api/run?id=" + id);
    EXPECT_TRUE(begins_with(text, "HTTP/1.1 404")) << id << '\n' << text.substr(0, 300);
    EXPECT_EQ(text.find("a secret"), std::string::npos) << id;
  }
  EXPECT_TRUE(begins_with(get("/api/run"), "HTTP/1.1 404"));
  for (const char* path : {"/secret.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/a/b/run.toml",
                           "/a/b/events.jsonl", "/..%2f..%2fetc/passwd", "//etc/passwd", "/api", "/api/",
                           "/api/report/", "/api/../secret.txt", "/index.html", "/%00", "/api/report%00"}) {
    const auto text = get(path);
    EXPECT_TRUE(begins_with(text, "HTTP/1.1 404")) << path << '\n' << text.substr(0, 300);
    EXPECT_EQ(text.find("a secret"), std::string::npos) << path;
  }
}

TEST_F(ServerTest, OnlyThisMachinesNamesAreAnswered) {
  for (const char* host : {"localhost", "127.0.0.1", "[::1]"})
    EXPECT_TRUE(begins_with(get("/", host), "HTTP/1.1 200")) << host;
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example#localhost"}) {
    EXPECT_TRUE(begins_with(get("/", host), "HTTP/1.1 403")) << host;
    EXPECT_TRUE(begins_with(get("/api/changes", host), "HTTP/1.1 403")) << host;
  }
  const auto other_port = answer_to("GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n");
  EXPECT_TRUE(begins_with(other_port, "HTTP/1.1 403")) << other_port;
  const auto none = answer_to("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(begins_with(none, "HTTP/1.1 403")) << none;
}

TEST_F(ServerTest, PagesOfOtherSitesGetNothingButALinkIsFollowed) {
  const std::string from_elsewhere = "Sec-Fetch-Site: cross-site\r\n";
  EXPECT_TRUE(begins_with(get("/", "localhost", from_elsewhere), "HTTP/1.1 200"));
  for (const char* path : {"/api/report", "/api/run?id=a/b", "/api/changes"})
    EXPECT_TRUE(begins_with(get(path, "localhost", from_elsewhere), "HTTP/1.1 403")) << path;
  EXPECT_TRUE(
      begins_with(get("/api/report", "localhost", "Sec-Fetch-Site: same-origin\r\n"), "HTTP/1.1 200"));
}

TEST_F(ServerTest, ElsewhereEveryPathNeedsTheToken) {
  start({.host = "0.0.0.0", .port = 0});
  const auto url = server_->url();
  const auto at = url.find("/?token=");
  ASSERT_NE(at, std::string::npos) << url;
  const auto token = url.substr(at + 8);
  EXPECT_GE(token.size(), 32U);
  for (const std::string path : {"/", "/api/report", "/api/run?id=a/b", "/api/changes", "/nowhere"}) {
    EXPECT_EQ(status_of(path), "403") << path;
    const std::string sign = path.find('?') == std::string::npos ? "?" : "&";
    EXPECT_EQ(status_of(path + sign + "token="), "403") << path;
    EXPECT_EQ(status_of(path + sign + "token=" + token.substr(1)), "403") << path;
    auto wrong = token;
    wrong.back() = wrong.back() == '0' ? '1' : '0';
    EXPECT_EQ(status_of(path + sign + "token=" + wrong), "403") << path;
  }
  EXPECT_EQ(status_of("/?token=" + token), "200");
  EXPECT_EQ(status_of("/api/run?id=a/b&token=" + token), "200");
  start({.host = "0.0.0.0", .port = 0});
  EXPECT_EQ(server_->url().find(token), std::string::npos) << "each time another one";
}

TEST(IsLoopback, KnowsTheAddressesOfThisMachine) {
  for (const char* host : {"127.0.0.1", "127.3.2.1", "::1", "localhost"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "192.168.0.1", "example.org", "127.0.0.1.example.org", ""})
    EXPECT_FALSE(is_loopback(host)) << host;
}

TEST_F(ServerTest, APortInUseIsSaidWithTheWayOut) {
  const auto sentence = sadam::testing::refusal(
      [&] { const Server second(shelf_, kServed, {.host = "127.0.0.1", .port = server_->port()}); });
  EXPECT_EQ(sentence,
            fmt::format("port {} is in use: stop what uses it, or choose another with --port (0: any that "
                        "is free).",
                        server_->port()));
}

TEST_F(ServerTest, AnAddressOfAnotherMachineIsSaidWithTheWayOut) {
  for (const char* host : {"192.0.2.1", "no.such.host.invalid"})
    EXPECT_TRUE(sadam::testing::says(
        sadam::testing::refusal([&] { const Server other(shelf_, kServed, {.host = host, .port = 0}); }),
        "give --host an address of this machine"))
        << host;
}

TEST_F(ServerTest, NothingButReadingIsAnswered) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    const auto text =
        answer_to(fmt::format("{} /api/report HTTP/1.1\r\nHost: localhost:{}\r\nContent-Length: 2\r\n\r\nab",
                              method, server_->port()));
    EXPECT_TRUE(begins_with(text, "HTTP/1.1 405")) << method << '\n' << text;
  }
  const auto head = answer_to(fmt::format("HEAD / HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server_->port()));
  EXPECT_TRUE(begins_with(head, "HTTP/1.1 200")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(ServerTest, LongRequestsAreRefused) {
  for (const auto& request :
       {get("/" + std::string(9000, 'a')), get("/", "localhost", "X: " + std::string(9000, 'a') + "\r\n"),
        get("/", "localhost", [] {
          std::string headers;
          for (int i = 0; i < 2000; ++i) headers += fmt::format("X{}: y\r\n", i);
          return headers;
        }())})
    EXPECT_EQ(request.find("200 OK"), std::string::npos) << request.substr(0, 100);
  EXPECT_EQ(status_of("/"), "200") << "others are answered";
}

TEST_F(ServerTest, ASmallRequestHasNoEndlessAnswer) {
  const auto page = std::string(kServed) + std::string(100'000, ' ');
  start({.host = "127.0.0.1", .port = 0}, page);
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 2000; ++i) ranges += ",0-";
  const auto text = get("/", "localhost", ranges + "\r\n");
  EXPECT_TRUE(begins_with(text, "HTTP/1.1 416")) << text.substr(0, 100);
  EXPECT_LT(text.size(), 1'000'000U);
}

TEST_F(ServerTest, GarbageIsSurvived) {
  for (const std::string& request :
       {std::string("\0\1\2\r\n\r\n", 7), std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("\r\n\r\n\r\n"), std::string("GET / HTTP/1.1\r\nHost\r\n\r\n"),
        std::string("\x16\x03\x01 hello TLS\r\n\r\n")})
    EXPECT_EQ(answer_to(request).find("200 OK"), std::string::npos) << request;
  EXPECT_EQ(status_of("/"), "200");
}

TEST_F(ServerTest, ASlowClientIsLeftAndHoldsUpNobody) {
  start({.host = "127.0.0.1", .port = 0, .patience = seconds(2)});
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 12; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port()));
    slow.back()->send("GET / HTTP/1.1\r\nHost: loc");
  }
  std::atomic<bool> ended = false;
  std::thread drip([&] {  // a byte now and then does not buy more time
    while (!ended) {
      slow.front()->send("a");
      std::this_thread::sleep_for(milliseconds(200));
    }
  });
  const auto begun = Clock::now();
  EXPECT_EQ(status_of("/"), "200");
  EXPECT_LT(Clock::now() - begun, seconds(2)) << "before the slow ones were left";
  EXPECT_EQ(slow.front()->receive().find("200 OK"), std::string::npos);
  EXPECT_LT(Clock::now() - begun, seconds(6));
  ended = true;
  drip.join();
}

TEST_F(ServerTest, AStreamTellsOfChangesWithinASecond) {
  RawClient stream(server_->port());
  stream.send(stream_request());
  const auto first = stream.receive("\n\n\r\n");
  EXPECT_NE(first.find("Content-Type: text/event-stream"), std::string::npos) << first;
  EXPECT_NE(first.find("event: runs\ndata: [{\"id\":\"a/b\",\"stamp\":\""), std::string::npos) << first;

  std::this_thread::sleep_for(milliseconds(20));  // another modification time
  const auto begun = Clock::now();
  sadam::testing::write_run(paths("new"), sadam::testing::recipe_with({}), {0.5});
  EXPECT_NE(stream.receive("\"id\":\"new\"").find("\"id\":\"new\""), std::string::npos);
  sadam::testing::append(paths("a/b").events(), "{\"event\":\"note\",\"text\":\"x\"}\n");
  std::filesystem::remove_all(paths("new").folder);
  const auto now = fmt::format("data: [{{\"id\":\"a/b\",\"stamp\":\"{}\"}}]\n", stamp_of(paths("a/b")));
  EXPECT_NE(stream.receive(now).find(now), std::string::npos);
  EXPECT_LT(Clock::now() - begun, seconds(2));
}

TEST_F(ServerTest, SoManyStreamsAndNoMoreAndAPlaceIsFreeWhenOneLeaves) {
  std::vector<std::unique_ptr<RawClient>> streams;
  for (int i = 0; i < 8; ++i) {
    streams.push_back(std::make_unique<RawClient>(server_->port()));
    streams.back()->send(stream_request());
    ASSERT_NE(streams.back()->receive("event: runs").find("200 OK"), std::string::npos);
  }
  EXPECT_TRUE(begins_with(answer_to(stream_request()), "HTTP/1.1 503"));
  EXPECT_EQ(status_of("/api/report"), "200") << "the rest is answered all the same";
  streams.pop_back();
  const auto begun = Clock::now();
  for (bool taken = false; !taken && Clock::now() - begun < seconds(3);) {
    RawClient next(server_->port());
    next.send(stream_request());
    taken = next.receive("\r\n").find("200 OK") != std::string::npos;
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_LT(Clock::now() - begun, seconds(2));
}

TEST_F(ServerTest, EndsAtOnceWhateverIsOpen) {
  const std::string large(64 << 20, ' ');
  start({.host = "127.0.0.1", .port = 0}, large);
  RawClient never_takes(server_->port());
  never_takes.send(fmt::format("GET / HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server_->port()));
  never_takes.receive("200 OK");
  RawClient stream(server_->port());
  stream.send(stream_request());
  stream.receive("event: runs");
  RawClient half(server_->port());
  half.send("GET / HT");
  std::this_thread::sleep_for(milliseconds(50));
  const auto begun = Clock::now();
  server_.reset();
  EXPECT_LT(Clock::now() - begun, milliseconds(500));
  stream.receive();  // returns, since it has been closed
}

}  // namespace
}  // namespace sadam::page
