// `sadam report` and `sadam serve`, as a person runs them.
#include "page/page.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "cli/program.h"
#include "report/picture.h"
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
  EXPECT_TRUE(
      says(run_program({"serve", at("file"), "--port", "0"}).err, "there is no folder " + at("file")));
  EXPECT_EQ(run_program({"serve", at("runs"), "--port", "70000"}).status, 2);
  EXPECT_TRUE(says(run_program({"serve", at("runs"), "--port", "0", "--host", "192.0.2.1"}).err, "--host"));
}
#endif

// Of no table, of table 1 and of table 4, two seeds each.
class Figures : public sadam::testing::RunsTest {
 protected:
  void SetUp() override {
    for (const char* run :
         {"alone", "table1/cifar100/adamw", "table4/cifar100-b4/adamw", "table4/imagewoof-b64/adamw"})
      for (const int seed : {42, 43})
        sadam::testing::write_run(paths(fmt::format("runs/{}/seed-{}", run, seed)),
                                  recipe_with({"train.epochs=2", fmt::format("seed={}", seed)}), {0.25, 0.5});
  }
  std::string at(const std::string& name) const { return (root_ / name).string(); }
  Ended figures(const Arguments& more) const {
    Arguments arguments = {"report", "--root", at("runs"), "--figures", at("figures")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
};

TEST_F(Figures, OfEveryTableAndOfOtherRunsAreWrittenAsSvgAndPdf) {
  const auto ended = figures({});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(says(ended.out, ": table1, quantization, table4, small-batches, runs.")) << ended.out;
  for (const char* name : {"table1", "quantization", "table4", "small-batches", "runs"}) {
    const auto file = at(fmt::format("figures/{}", name));
    EXPECT_TRUE(text_of_file(file + ".svg").starts_with("<svg")) << name;
    if (report::draws_pdf()) {
      EXPECT_TRUE(text_of_file(file + ".pdf").starts_with("%PDF")) << name;
    }
  }
  // The paper's grid has the training loss alone, a panel for each batch size of each data set.
  const auto grid = text_of_file(at("figures/small-batches.svg"));
  EXPECT_TRUE(says(grid, "training loss"));
  EXPECT_FALSE(says(grid, "test accuracy"));
  EXPECT_TRUE(says(text_of_file(at("figures/table4.svg")), "test accuracy"));
  const auto numbers = text_of_file(at("figures/small-batches.csv"));
  EXPECT_TRUE(says(numbers, "imagewoof-b64,adamw,none,2,2,50")) << numbers;
  EXPECT_FALSE(std::filesystem::exists("report.html"));
}

TEST_F(Figures, AreOfTheRunsThatWereAskedFor) {
  const auto ended = figures({"alone"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(at("figures/table1.svg")));
  EXPECT_TRUE(says(text_of_file(at("figures/runs.svg")), "test accuracy"));
  EXPECT_TRUE(says(text_of_file(at("figures/runs.csv")), "accuracy,2,50"));
}

TEST_F(Figures, OfRunsThatCannotBeDrawnAreRefused) {
  sadam::testing::write_text(root_ / "runs/alone/seed-42/run.toml", "no toml");
  const auto ended = figures({"alone"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(says(ended.err, "seed-42 is left out: ")) << ended.err;
  for (const int seed : {42, 43})
    std::filesystem::remove(root_ / fmt::format("runs/alone/seed-{}/events.jsonl", seed));
  const auto none = figures({"alone"});
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(says(none.err, "there is nothing to draw: no run has finished an epoch."));
  sadam::testing::write_text(root_ / "file", "");
  const auto nowhere = run_program({"report", "--root", at("runs"), "--figures", at("file")});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_TRUE(says(nowhere.err, "name another folder with --figures.")) << nowhere.err;
}

}  // namespace
}  // namespace sadam::cli
