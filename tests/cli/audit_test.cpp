// `sadam audit`, as a person runs it.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <sstream>

#include "base/text.h"
#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

TEST(AuditCommand, PrintsEveryEstimatorWithinEightyColumnsAndWritesNumbersAndPicture) {
  const TemporaryFolder folder;
  const auto csv = (folder.path() / "audit.csv").string();
  const auto svg = (folder.path() / "audit.svg").string();
  const auto audit = [&](const char* seed) {
    return run_program({"audit", "--quick", "--dimensions", "2,60", "--radii", "0.01,0.1", "--seed", seed,
                        "--csv", csv, "-o", svg});
  };
  const auto ended = audit("3");
  ASSERT_EQ(ended.status, 0) << ended.err;
  for (const std::string text : {"\nsphere      variance ", "\nper_tensor  unbiased_variance ",
                                 "\nrademacher  residual ", "\nstep        residual ", "radius 0.01"})
    EXPECT_NE(ended.out.find(text), std::string::npos) << text << " is not in\n" << ended.out;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(base::display_width(line), 80U) << line;
  const auto first = text_of_file(csv);
  EXPECT_EQ(first.find("measure,directions,statistic,probes,on,precision,family,dimension,"), 0U);
  for (const std::string text : {"\narea,sphere,residual,2,networks,float32,2 bits,", "\nloss scale,",
                                 "\nslope,", "\nlearning rate,", "\nfloat32,"})
    EXPECT_NE(first.find(text), std::string::npos) << text;
  EXPECT_NE(text_of_file(svg).find("</svg>"), std::string::npos);
  EXPECT_EQ(audit("3").out, ended.out);
  EXPECT_EQ(text_of_file(csv), first);
  EXPECT_NE(audit("4").out, ended.out);
}

TEST(AuditCommand, AnswersBadInputWithOneSentence) {
  const auto refused = [](const std::string& option, const std::string& value, const std::string& sentence) {
    const auto ended = run_program({"audit", option, value});
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.err, "sadam: " + sentence + "\n");
    EXPECT_EQ(ended.out, "");
  };
  refused("--radii", "0,0.1", "a radius of 0 probes nothing: give radii above 0.");
  refused("--radii", "-1", "a radius of -1 probes nothing: give radii above 0.");
  refused("--radii", "0.1,0.01",
          "radii must ascend, and 0.01 comes behind 0.1: sort them, and give each once.");
  refused("--radii", "0.1,inf",
          "--radii takes numbers separated by commas, such as 0.001,0.01, and not 'inf'.");
  refused("--dimensions", "2,many",
          "--dimensions takes numbers separated by commas, such as 2,100, and not 'many'.");
  refused("--dimensions", "1", "--dimensions takes whole numbers from 2 on, and not '1'.");
  refused("--dimensions", "2.5", "--dimensions takes whole numbers from 2 on, and not '2.5'.");
  const auto large = run_program({"audit", "--dimensions", "1000000000000"});
  EXPECT_EQ(large.status, 2);
  EXPECT_NE(large.err.find("1000000000000 dimensions need 80000 GB of memory and this machine has "),
            std::string::npos)
      << large.err;
  EXPECT_NE(large.err.find("give fewer with --dimensions.\n"), std::string::npos);
  EXPECT_EQ(run_program({"audit", "--csv", ""}).status, 2);
  EXPECT_EQ(run_program({"audit", "--seed", "-1"}).status, 2);
  EXPECT_EQ(run_program({"audit", "-o", "audit.jpeg"}).status, 2);
  EXPECT_EQ(run_program({"audit", "--csv", "/nowhere/audit.csv"}).err,
            "sadam: there is no folder '/nowhere' for --csv: make it, or name another file.\n");
}

TEST(AuditCommand, EndsAtOnceOnCtrlC) {
  const auto began = std::chrono::steady_clock::now();
  const auto ended = run_and_signal({"audit"}, std::chrono::milliseconds(700), SIGINT);
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

}  // namespace
}  // namespace sadam::cli
