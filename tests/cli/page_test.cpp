// `sadam report` and `sadam serve`, as a person runs them.
#include "page/page.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "cli/program.h"
#include "support/fake_runs.h"

namespace sadam::cli {
namespace {

using Clock = std::chrono::steady_clock;
using sadam::testing::recipe_with;
using sadam::testing::text_of_file;

class Page : public sadam::testing::RunsTest {
 protected:
  void SetUp() override {
    if (page::built_in_page().empty()) GTEST_SKIP() << "the page was not built";
    for (const char* name : {"runs/first", "runs/set/a", "runs/set/b", "else/c"})
      sadam::testing::write_run(paths(name), recipe_with({"train.epochs=1"}), {0.5});
  }
  std::string at(const std::string& name) const { return (root_ / name).string(); }
  Ended report(const Arguments& runs, const std::string& root = "runs",
               const std::string& output = "report.html") const {
    Arguments arguments = {"report", "--root", at(root), "-o", at(output)};
    arguments.insert(arguments.end(), runs.begin(), runs.end());
    return run_program(arguments);
  }
  // The runs in a report.
  std::vector<std::string> ids() const {
    const auto page = text_of_file(at("report.html"));
    constexpr std::string_view kBefore = R"(id="sadam-data">)";
    const auto first = page.find(kBefore) + kBefore.size();
    const auto data = nlohmann::json::parse(page.substr(first, page.find("</script>", first) - first));
    std::vector<std::string> list;
    for (const auto& run : data["runs"]) {
      EXPECT_FALSE(run["details"].is_null());
      list.push_back(run["id"]);
    }
    return list;
  }
  using Ids = std::vector<std::string>;
};

TEST_F(Page, AReportHasTheRunsThatWereAskedFor) {
  const auto all = report({});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_TRUE(says(all.out, "The report of 3 runs is in " + at("report.html") + " ("));
  EXPECT_EQ(ids(), Ids({"first", "set/a", "set/b"}));
  ASSERT_EQ(report({"set/b"}).status, 0);
  EXPECT_EQ(ids(), Ids({"set/b"}));
  ASSERT_EQ(report({"set", "set/b", at("else/c"), at("runs/first/")}).status, 0);
  EXPECT_EQ(ids(), Ids({at("else/c"), "first", "set/a", "set/b"}));
}

TEST_F(Page, AReportThatCannotBeMadeIsRefusedInOneSentenceAndAnEarlierOneStays) {
  sadam::testing::write_text(root_ / "report.html", "earlier");
  sadam::testing::write_text(root_ / "file", "no folder");
  std::filesystem::create_directory(root_ / "empty");
  const auto is_refused = [&](const Ended& ended, int status, const std::string& part) {
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_TRUE(says(ended.err, part));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_EQ(text_of_file(at("report.html")), "earlier");
  };
  is_refused(report({"firts"}), 2, "there is no run 'firts'");
  is_refused(report({"empty"}), 2, "there is no run 'empty'");
  is_refused(report({""}), 2, "must not be empty");
  is_refused(report({}, "runs", "nowhere/report.html"), 1, "there is no folder");
  is_refused(report({}, "runs", "empty"), 1, at("empty"));
  is_refused(report({}, "empty"), 1, "there are no runs below");
  is_refused(report({}, "file"), 1, at("file"));
}

#ifdef SADAM_HAVE_HTTPLIB
TEST_F(Page, ServePrintsItsAddressAndEndsAtOnceWhenTold) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Background serving({"serve", at("runs"), "--port", "0"});
    const auto begun = Clock::now();
    while (serving.said().find('\n') == std::string::npos && Clock::now() - begun < std::chrono::seconds(20))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto url = serving.said();
    ASSERT_EQ(url.substr(0, 17), "http://127.0.0.1:") << url;
    const auto port = std::stoi(url.substr(17));

    const base::Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const auto request = "GET /api/changes HTTP/1.1\r\nHost: localhost:" + std::to_string(port) + "\r\n\r\n";
    base::write_all(socket, std::as_bytes(std::span(request)), "the server");
    std::string answer(4096, '\0');
    ASSERT_GT(::recv(socket.number(), answer.data(), answer.size(), 0), 0);

    const auto second = run_program({"serve", at("runs"), "--port", std::to_string(port)});
    EXPECT_EQ(second.status, 1);
    EXPECT_TRUE(says(second.err, "port " + std::to_string(port) + " is in use"));

    const auto told = Clock::now();
    serving.signal(signal);
    EXPECT_EQ(serving.wait().status, 0);
    EXPECT_LT(Clock::now() - told, std::chrono::seconds(2));
  }
}

TEST_F(Page, ServeRefusesWhatIsNoFolder) {
  sadam::testing::write_text(root_ / "file", "no folder");
  const auto missing = run_program({"serve", at("nowhere"), "--port", "0"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_TRUE(says(missing.err, "there is no folder " + at("nowhere")));
  EXPECT_EQ(run_program({"serve", at("file"), "--port", "0"}).status, 1);
  EXPECT_EQ(run_program({"serve", at("runs"), "--port", "70000"}).status, 2);
  EXPECT_TRUE(says(run_program({"serve", at("runs"), "--port", "0", "--host", "192.0.2.1"}).err, "--host"));
}
#endif

}  // namespace
}  // namespace sadam::cli
