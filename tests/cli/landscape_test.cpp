// `sadam landscape` and `sadam reproduce figures`.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/program.h"
#include "support/temporary_folder.h"
#include "support/xml.h"

namespace sadam::cli {
namespace {

class LandscapeCommand : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  Ended landscape(Arguments more) const {
    more.insert(more.begin(), "landscape");
    return run_program(more);
  }
  // One sentence, this status, and no file.
  void expect_refused(const Arguments& more, int status, const std::string& part) const {
    auto arguments = more;
    arguments.insert(arguments.end(), {"-o", path("refused.svg")});
    cli::expect_refused(landscape(arguments), status, {part});
    EXPECT_FALSE(std::filesystem::exists(path("refused.svg")));
  }

  TemporaryFolder folder_;
};

TEST_F(LandscapeCommand, DrawsAPictureAndPrintsATable) {
  const auto ended = landscape({"kinks", "--steps", "60", "-o", path("a.svg")});
  ASSERT_EQ(ended.status, 0) << ended.err;
  for (const auto* part :
       {"AdamW", "Prox-SGD", "S-Adam", "f − f*", "dist(0, ∂f)", "brake", "chatter", "error below"})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << " in: " << ended.out;
  const auto svg = text_of_file(path("a.svg"));
  EXPECT_EQ(xml_fault(svg), "");
  for (const auto* part :
       {"ideal path, error below", "∂f at (1, 1)", "prefers-color-scheme", "class=\"blobs"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

TEST_F(LandscapeCommand, TheSameCommandGivesTheSameBytesAndAnotherSeedOthers) {
  for (const auto* name : {"a.svg", "b.svg"})
    ASSERT_EQ(landscape({"lasso", "--steps", "40", "-o", path(name)}).status, 0);
  ASSERT_EQ(landscape({"lasso", "--steps", "40", "--seed", "1", "-o", path("c.svg")}).status, 0);
  EXPECT_EQ(text_of_file(path("a.svg")), text_of_file(path("b.svg")));
  EXPECT_NE(text_of_file(path("a.svg")), text_of_file(path("c.svg")));
}

TEST_F(LandscapeCommand, PrintsEveryStepForOtherPrograms) {
  const auto ended =
      landscape({"chain", "--dimensions", "3", "--optimizers", "adamw,sadam k=8,matched", "--steps", "5",
                 "--lr", "0.1", "--start", " +1", "--csv", "-o", path("a.svg")});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out.substr(0, 31), "optimizer,step,x,y,excess,brake");
  EXPECT_EQ(count_of(ended.out, "\nS-Adam k=8,"), 6U);
  EXPECT_NE(ended.out.find("AdamW,0,1,1,"), std::string::npos) << ended.out.substr(0, 200);
  EXPECT_NE(ended.err.find(path("a.svg")), std::string::npos);
}

TEST_F(LandscapeCommand, WritesPngAndPdfOrSaysWhatIsMissing) {
  for (const auto* name : {"a.png", "a.pdf"}) {
    const auto ended = landscape({"quadratic", "--steps", "10", "-o", path(name)});
    if (ended.status == 0) {
      EXPECT_GT(std::filesystem::file_size(path(name)), 1000U);
    } else {
      EXPECT_EQ(ended.status, 2);
      EXPECT_NE(ended.err.find("librsvg2-dev"), std::string::npos) << ended.err;
    }
  }
}

TEST_F(LandscapeCommand, AMisspeltLandscapeIsAnsweredWithTheNearest) {
  expect_refused({"kink"}, 2, "'kinks'");
  expect_refused({"vally"}, 2, "'valley'");
  expect_refused({"softmax"}, 2, "softplus");
}

TEST_F(LandscapeCommand, ADimensionThatDoesNotFitIsRefused) {
  expect_refused({"valley", "--dimensions", "3"}, 2, "has 2 dimensions");
  expect_refused({"lasso", "--dimensions", "1"}, 2, "2 dimensions or more");
  expect_refused({"lasso", "--dimensions", "-1"}, 2, "2 dimensions or more");
  expect_refused({"lasso", "--dimensions", "4000000000"}, 2, "1000 at most");
}

TEST_F(LandscapeCommand, WhatIsWrongIsSaidInOneSentence) {
  expect_refused({"kinks", "--optimizers", "sadm"}, 2, "'sadam'");
  expect_refused({"kinks", "--optimizers", "sadam radius=0"}, 2, "above 0");
  expect_refused({"kinks", "--optimizers", "matched"}, 2, "sadam,matched");
  expect_refused({"kinks", "--start", "1,2,3"}, 2, "3 coordinates");
  expect_refused({"kinks", "--start", "1,x"}, 2, "--start");
  expect_refused({"kinks", "--at", "inf,1"}, 2, "--at");
  expect_refused({"staircase", "--at", "1,1"}, 2, "leave out --at");
  expect_refused({"kinks", "--steps", "0"}, 2, "--steps");
  expect_refused({"kinks", "--lr", "fast"}, 2, "optimizer.lr");
  expect_refused({"kinks", "--set", "data.name=cifar10"}, 2, "leave it out");
  const auto ended = landscape({"kinks", "-o", path("a.jpg")});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find(".svg, .png or .pdf"), std::string::npos) << ended.err;
  EXPECT_EQ(landscape({"kinks", "-o", path("nowhere/a.svg")}).status, 1);
}

TEST_F(LandscapeCommand, ReproduceDrawsThePapersFigures) {
  const auto ended = run_program({"reproduce", "figures", "--root", path("runs")});
  ASSERT_EQ(ended.status, 0) << ended.err;
  for (const auto* name : {"figure1", "figure1-valley", "figure2", "figure3"}) {
    const auto svg = text_of_file(path(std::string("runs/") + name + ".svg"));
    EXPECT_EQ(xml_fault(svg), "") << name;
    EXPECT_LT(svg.size(), 150'000U) << name;
    EXPECT_GT(count_of(text_of_file(path(std::string("runs/") + name + ".csv")), "\n"), 80U) << name;
  }
  for (const auto* panel : {"(a) ", "(b) ", "(c) ", "(d) "})
    EXPECT_EQ(count_of(text_of_file(path("runs/figure1.svg")), panel), 1U) << panel;
  const auto one = run_program({"reproduce", "figures", "--only", "figure3", "--csv", "--root", path("one")});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_FALSE(std::filesystem::exists(path("one/figure1.svg")));
}

TEST_F(LandscapeCommand, ReproduceRefusesWhatTheFiguresDoNotHave) {
  const auto refused = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"reproduce", "figures", "--root", path("runs")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto ended = run_program(arguments);
    EXPECT_EQ(ended.status, 2) << ended.err;
    EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
  };
  refused({"--only", "figur2"}, "'figure2'");
  refused({"--epochs", "2"}, "--epochs");
  refused({"--seeds", "1-3"}, "one seed");
  refused({"--device", "cuda"}, "train.device");
  EXPECT_FALSE(std::filesystem::exists(path("runs")));
}

}  // namespace
}  // namespace sadam::cli
